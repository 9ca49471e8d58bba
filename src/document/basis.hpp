#pragma once

#include <string_view>

namespace ridgeline::document {

/// What a result says of figures that are lower bounds: no kernel was measured on their GPU nor on
/// a relative.
inline constexpr std::string_view kBoundWords = "a bound, not an estimate";

}  // namespace ridgeline::document
