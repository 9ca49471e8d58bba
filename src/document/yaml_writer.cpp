#include "document/yaml_writer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "core/check.hpp"
#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/node_json.hpp"

namespace ridgeline::document {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Words that some reader of YAML takes for no string.
constexpr auto kReserved =
    std::to_array<std::string_view>({"true", "false", "null", "yes", "no", "on", "off", "y", "n"});

/// Whether a string needs no quotes: it begins like a word, a path or a flag, and holds nothing
/// that YAML gives a meaning.
bool is_plain(std::string_view text) {
  const bool begins_plainly =
      !text.empty() && (is_letter(text[0]) || text[0] == '/' || text.starts_with("--"));
  const auto is_harmless = [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') ||
           std::string_view("_-./@+=:").find(c) != std::string_view::npos;
  };
  std::string lower(text);
  std::ranges::transform(
      lower, lower.begin(), [](char c) { return is_letter(c) ? static_cast<char>(c | 0x20) : c; });
  return begins_plainly && std::ranges::all_of(text, is_harmless) && !text.ends_with(':') &&
         std::ranges::find(kReserved, lower) == kReserved.end();
}

std::string scalar(const Node& node) {
  if (node.is_string() && is_plain(node.as_string())) {
    return node.as_string();
  }
  JsonWriter json(JsonWriter::Layout::kOneLine);
  write(node, json);
  return json.text();
}

bool is_block(const Node& node) {
  return (node.is_map() && !node.members().empty()) || (node.is_list() && !node.items().empty());
}

void append(const Node& node, std::size_t indent, bool begun, std::string& text);

/// What follows a key or a dash.
void append_value(const Node& value, std::size_t indent, bool after_dash, std::string& text) {
  if (!is_block(value)) {
    text += " " + scalar(value) + "\n";
  } else if (after_dash) {
    text += " ";
    append(value, indent, true, text);
  } else {
    text += "\n";
    append(value, indent, false, text);
  }
}

/// A map or list, each entry on lines of its own; `begun`: the first one's indent is there.
void append(const Node& node, std::size_t indent, bool begun, std::string& text) {
  const auto start = [&] {
    if (!begun) {
      text.append(indent, ' ');
    }
    begun = false;
  };
  if (node.is_map()) {
    for (const Node::Member& member : node.members()) {
      start();
      text += yaml_word(member.key) + ":";
      append_value(member.value, indent + 2, false, text);
    }
    return;
  }
  for (const Node& item : node.items()) {
    start();
    text += "-";
    append_value(item, indent + 2, true, text);
  }
}

}  // namespace

std::string yaml_word(std::string_view text) {
  return scalar(Node::string(std::string(text), {}));
}

std::string yaml_text(const Node& node) {
  RIDGELINE_CHECK(node.is_map() || node.is_list(), "a document is a map or a list");
  if (!is_block(node)) {
    return node.is_map() ? "{}\n" : "[]\n";
  }
  std::string text;
  append(node, 0, false, text);
  return text;
}

}  // namespace ridgeline::document
