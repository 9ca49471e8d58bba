#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "openai/api_error.hpp"

namespace ridgeline::openai {

/// So many characters a text of an expression may have.
inline constexpr std::size_t kMostRegexText = 16'384;

/// A text that a regular expression matches from end to end: of alternatives the first, of
/// repetitions the fewest; where that is empty, what may be left out stands once. Groups,
/// alternatives, classes, quantifiers, escapes and anchors are known, as in Python and Rust; what
/// looks around, refers back or names classes of Unicode is refused.
[[nodiscard]] ApiResult<std::string> regex_instance(std::string_view expression);

}  // namespace ridgeline::openai
