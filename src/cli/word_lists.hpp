#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::cli {

/// The parts between commas; nothing of an empty text.
[[nodiscard]] std::vector<std::string> split_list(std::string_view text);
/// A whole number from 1 to 2^40, digits only.
[[nodiscard]] std::optional<std::int64_t> parse_positive(std::string_view text);
/// "32-8-128": query heads, KV heads, head dimension.
[[nodiscard]] std::optional<latency::measured::HeadShape> parse_head_shape(std::string_view text);

}  // namespace ridgeline::cli
