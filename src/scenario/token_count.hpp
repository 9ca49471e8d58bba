#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ridgeline::scenario {

/// A number of tokens as vLLM reads it after a flag: "16k" is 16,000 and "16K" 16,384, likewise m,
/// g, t; "25.6k" is 25,600, and no large letter takes a fraction. Nothing for any other text, and
/// past the exact integers. Source: human_readable_int (vllm/engine/arg_utils.py).
[[nodiscard]] std::optional<std::int64_t> parse_token_count(std::string_view text);

}  // namespace ridgeline::scenario
