#include "cli/word_lists.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::cli {

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(comma + 1);
    if (text.empty()) {
      parts.emplace_back();
    }
  }
  return parts;
}

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

}  // namespace ridgeline::cli
