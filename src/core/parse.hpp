#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace ridgeline::core {

/// The number that the whole text is, without a plus sign or spaces. Nothing where more stands
/// there, or it is beyond the type's range.
template <class Number>
[[nodiscard]] std::optional<Number> parse_whole(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [reached, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && reached == end ? std::optional(value) : std::nullopt;
}

}  // namespace ridgeline::core
