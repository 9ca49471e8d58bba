// Any bytes as JSON: another reader must agree on what is valid, and what is read must survive
// being written and read again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/check.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/node_json.hpp"

namespace {

using ridgeline::document::JsonWriter;
using ridgeline::document::Node;

std::string written(const Node& node, JsonWriter::Layout layout) {
  JsonWriter json(layout);
  ridgeline::document::write(node, json);
  return json.text();
}

bool is_limit(const ridgeline::core::Error& error) {
  return error.message.find("levels") != std::string::npos ||
         error.message.find("more than") != std::string::npos;
}

/// simdjson refuses exponents of more than eighteen digits, even those of zero.
bool has_long_exponent(std::string_view text) {
  constexpr std::size_t kMostDigits = 18;
  for (std::size_t at = text.find_first_of("eE"); at != std::string_view::npos;
       at = text.find_first_of("eE", at + 1)) {
    const std::size_t digits = std::min(text.find_first_not_of("+-", at + 1), text.size());
    const std::size_t end = std::min(text.find_first_not_of("0123456789", digits), text.size());
    if (end - digits > kMostDigits) {
      return true;
    }
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ridgeline::document::NonFinite;
  const std::string text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(ridgeline::document::parse_json(text, "f", NonFinite::kReadAsNull));
  const auto node = ridgeline::document::parse_json(text, "f");
  // The other reader takes a zero byte for the end of the text.
  const bool accepted = text.find('\0') == std::string::npos && nlohmann::json::accept(text);
  if (!node) {
    RIDGELINE_CHECK(!accepted || is_limit(node.error().front()) || has_long_exponent(text),
                    to_string(node.error().front()));
    return 0;
  }
  RIDGELINE_CHECK(accepted, "another reader refuses this");
  using Layout = JsonWriter::Layout;
  const auto again = ridgeline::document::parse_json(written(*node, Layout::kIndented), "f");
  RIDGELINE_CHECK(again, to_string(again.error().front()));
  RIDGELINE_CHECK(written(*again, Layout::kOneLine) == written(*node, Layout::kOneLine),
                  "another value after writing and reading");
  return 0;
}
