#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/result.hpp"

namespace ridgeline::scenario {

/// What a formula of a recipe may name; nothing where it is not known.
struct FormulaInputs {
  std::optional<double> clients;        ///< Requests in flight at most.
  std::optional<double> prompt_tokens;  ///< Tokens of the longest prompts.
  double tensor_parallel_size = 1.0;
};

/// Evaluates "max(8192, round_up(clients + prompt_tokens, 64))": numbers, the names of
/// FormulaInputs, + - * /, parentheses, and the functions max(a, b), min(a, b),
/// round_up(a, multiple) and from(a, limit, value, below): `value` from `limit` on, else `below`.
/// Nothing where it names what is not known; an error where it is no formula.
[[nodiscard]] core::Result<std::optional<double>> evaluate(std::string_view formula,
                                                           const FormulaInputs& inputs);

}  // namespace ridgeline::scenario
