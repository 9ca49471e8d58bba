#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::verbs {

/// A whole number from 1 to 2^40, digits only.
[[nodiscard]] std::optional<std::int64_t> parse_positive(std::string_view text);
/// "32-8-128": query heads, KV heads, head dimension.
[[nodiscard]] std::optional<latency::measured::HeadShape> parse_head_shape(std::string_view text);

}  // namespace ridgeline::verbs
