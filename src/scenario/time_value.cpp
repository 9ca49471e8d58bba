#include "scenario/time_value.hpp"

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

#include "core/time.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"

namespace ridgeline::scenario {

std::optional<core::Duration> time_value(std::string_view text) {
  double bare = 0.0;
  const char* const end = text.data() + text.size();
  const auto [reached, error] = std::from_chars(text.data(), end, bare);
  if (error == std::errc() && reached == end) {
    return core::Duration::from_seconds(bare);
  }
  const auto seconds = document::parse_quantity(text, "seconds");
  return seconds ? core::Duration::from_seconds(*seconds) : std::nullopt;
}

std::optional<core::Duration> time_value(const document::Node& node) {
  if (node.is_number()) {
    return core::Duration::from_seconds(node.as_real());
  }
  return node.is_string() ? time_value(node.as_string()) : std::nullopt;
}

}  // namespace ridgeline::scenario
