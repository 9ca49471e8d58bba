#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "routing/parameters.hpp"

namespace ridgeline::routing {

/// The parameter of policies that count characters: how many a token stands for. A prompt here is
/// tokens; the mean of English text is about four.
[[nodiscard]] constexpr Parameter chars_per_token_parameter() {
  return {.name = "chars_per_token",
          .standard = 4.0,
          .lowest = 0.1,
          .highest = 100.0,
          .help = "Characters that a token of a prompt counts for",
          .source = "a mean of English text; assumed"};
}

/// So many characters in tokens, at least one. `table` has chars_per_token_parameter().
[[nodiscard]] inline std::int64_t tokens_of_characters(std::int64_t characters,
                                                       const RouterSetup& setup,
                                                       std::span<const Parameter> table) {
  const double per_token = setup.number(table, chars_per_token_parameter().name);
  return std::max<std::int64_t>(std::llround(static_cast<double>(characters) / per_token), 1);
}

}  // namespace ridgeline::routing
