// Any bytes as YAML, and the option reader over what comes out: places lie inside the text, depth
// is limited, messages are one printable line.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/check.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"

namespace {

using ridgeline::core::Errors;
using ridgeline::core::Location;
using ridgeline::document::Node;

void check_place(const Location& where, std::string_view text) {
  const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
  RIDGELINE_CHECK(where.line >= 1 && where.line <= lines, "a line outside the text");
  RIDGELINE_CHECK(where.column >= 1 && static_cast<std::size_t>(where.column) <= text.size() + 1,
                  "a column outside the text");
}

void check_tree(const Node& node, std::string_view text, int depth) {
  check_place(node.where(), text);
  if (node.is_list()) {
    RIDGELINE_CHECK(depth <= ridgeline::document::kMaxDocumentDepth, "too deep");
    for (const Node& item : node.items()) {
      check_tree(item, text, depth + 1);
    }
  } else if (node.is_map()) {
    RIDGELINE_CHECK(depth <= ridgeline::document::kMaxDocumentDepth, "too deep");
    for (const Node::Member& member : node.members()) {
      check_place(member.where, text);
      check_tree(member.value, text, depth + 1);
    }
  }
}

void check_errors(const Errors& errors, std::string_view text) {
  for (const auto& error : errors) {
    const std::string line = to_string(error);
    RIDGELINE_CHECK(
        !error.message.empty() &&
            std::none_of(line.begin(),
                         line.end(),
                         [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }),
        "a message that is not one printable line");
    if (error.where.line > 0) {
      check_place(error.where, text);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto node = ridgeline::document::parse_yaml(text, "f");
  if (!node) {
    RIDGELINE_CHECK(!node.error().empty(), "failed without a reason");
    check_errors(node.error(), text);
    return 0;
  }
  check_tree(*node, text, 1);
  Errors errors;
  const std::vector<std::string> choices = {"fast", "reference"};
  ridgeline::document::ObjectReader reader(*node, "", errors);
  static_cast<void>(reader.boolean("a"));
  static_cast<void>(reader.integer("b", {0, 256}));
  static_cast<void>(reader.real("c"));
  static_cast<void>(reader.string("d"));
  static_cast<void>(reader.choice("e", choices));
  static_cast<void>(reader.integers("f"));
  static_cast<void>(reader.reals("g", {.lowest = 0.0}));
  static_cast<void>(reader.quantity("h", "bytes"));
  static_cast<void>(reader.required_quantity("i", "seconds"));
  reader.finish();
  check_errors(errors, text);
  return 0;
}
