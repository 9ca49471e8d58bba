#include "verbs/head_shapes.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/parse.hpp"
#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::verbs {

std::optional<std::int64_t> parse_positive(std::string_view text) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 40;
  const auto value = core::parse_whole<std::int64_t>(text);
  return value && *value >= 1 && *value <= kLargest ? value : std::nullopt;
}

std::optional<latency::measured::HeadShape> parse_head_shape(std::string_view text) {
  latency::measured::HeadShape shape;
  for (std::int64_t* part : {&shape.heads, &shape.kv_heads, &shape.head_dim}) {
    const bool is_last = part == &shape.head_dim;
    const auto dash = is_last ? text.size() : text.find('-');
    const auto value =
        dash == std::string_view::npos ? std::nullopt : parse_positive(text.substr(0, dash));
    if (!value) {
      return std::nullopt;
    }
    *part = *value;
    text.remove_prefix(is_last ? text.size() : dash + 1);
  }
  return shape;
}

}  // namespace ridgeline::verbs
