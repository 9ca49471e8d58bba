#include "verbs/head_shapes.hpp"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::verbs {

std::optional<std::int64_t> parse_positive(std::string_view text) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 40;
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = code == std::errc() && end == text.data() + text.size();
  return whole && value >= 1 && value <= kLargest ? std::optional(value) : std::nullopt;
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
