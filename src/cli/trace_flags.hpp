#pragma once

#include <cstdint>
#include <string_view>

#include "cli/arguments.hpp"
#include "core/result.hpp"

namespace ridgeline::cli {

/// A trace that stands in place of a scenario file, or beside one, becomes --trace, if there is
/// none.
void take_trace(Arguments& arguments);

/// The value of a flag that takes a whole number.
[[nodiscard]] core::Result<std::int64_t> whole_number(const Arguments& arguments,
                                                      std::string_view flag,
                                                      std::int64_t lowest,
                                                      std::int64_t highest);

}  // namespace ridgeline::cli
