#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "document/document.hpp"
#include "lab/conform/conform.hpp"

namespace ridgeline::conform {

/// How far a number of ours may be from the recorded one, by its key: the largest of both.
struct Tolerance {
  double absolute = 0.0;
  double relative = 0.0;
};
using ToleranceOf = Tolerance (*)(std::string_view key);

/// The first place where ours differs from what is recorded. Every key that is recorded must be in
/// ours, so that nothing is equal because it was not looked at; lists keep their order.
[[nodiscard]] std::optional<Difference> first_difference(const document::Node& recorded,
                                                         const document::Node& ours,
                                                         const std::string& where,
                                                         ToleranceOf tolerance);

}  // namespace ridgeline::conform
