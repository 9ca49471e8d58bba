#include "document/node_json.hpp"

#include <string>

#include "document/document.hpp"
#include "document/json_writer.hpp"

namespace ridgeline::document {
namespace {

std::string as_text(const Node& node, JsonWriter::Layout layout) {
  JsonWriter json(layout);
  write(node, json);
  return json.text() + "\n";
}

}  // namespace

void write(const Node& node, JsonWriter& json) {
  switch (node.kind()) {
    case Node::Kind::kNull:
      json.null();
      return;
    case Node::Kind::kBool:
      json.value(node.as_bool());
      return;
    case Node::Kind::kInteger:
      json.value(node.as_integer());
      return;
    case Node::Kind::kReal:
      json.value(node.as_real());
      return;
    case Node::Kind::kString:
      json.value(node.as_string());
      return;
    case Node::Kind::kList:
      json.begin_array();
      for (const Node& item : node.items()) {
        write(item, json);
      }
      json.end_array();
      return;
    case Node::Kind::kMap:
      json.begin_object();
      for (const Node::Member& member : node.members()) {
        write(member.value, json.key(member.key));
      }
      json.end_object();
      return;
  }
}

std::string json_text(const Node& node) {
  return as_text(node, JsonWriter::Layout::kIndented);
}

std::string json_line(const Node& node) {
  return as_text(node, JsonWriter::Layout::kOneLine);
}

}  // namespace ridgeline::document
