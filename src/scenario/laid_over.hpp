#pragma once

#include <vector>

#include "document/document.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// A scenario's document with another laid over it: sections are merged, all other values replaced.
[[nodiscard]] document::Node laid_over(const document::Node& base, const document::Node& over);
/// With what flags say laid over it.
[[nodiscard]] document::Node laid_over(const document::Node& base,
                                       const std::vector<Override>& overrides);

}  // namespace ridgeline::scenario
