#include "report/result_json.hpp"

#include <string>

#include "core/document.hpp"
#include "core/json_writer.hpp"
#include "report/result_tree.hpp"
#include "report/run_result.hpp"

namespace ridgeline::report {
namespace {

void write(const core::Node& node, core::JsonWriter& json) {
  switch (node.kind()) {
    case core::Node::Kind::kNull:
      json.null();
      return;
    case core::Node::Kind::kBool:
      json.value(node.as_bool());
      return;
    case core::Node::Kind::kInteger:
      json.value(node.as_integer());
      return;
    case core::Node::Kind::kReal:
      json.value(node.as_real());
      return;
    case core::Node::Kind::kString:
      json.value(node.as_string());
      return;
    case core::Node::Kind::kList:
      json.begin_array();
      for (const auto& item : node.items()) {
        write(item, json);
      }
      json.end_array();
      return;
    case core::Node::Kind::kMap:
      json.begin_object();
      for (const auto& member : node.members()) {
        json.key(member.key);
        write(member.value, json);
      }
      json.end_object();
      return;
  }
}

std::string as_text(const core::Node& node, core::JsonWriter::Layout layout) {
  core::JsonWriter json(layout);
  write(node, json);
  return json.text() + "\n";
}

}  // namespace

std::string json_text(const core::Node& node) {
  return as_text(node, core::JsonWriter::Layout::kIndented);
}

std::string json_line(const core::Node& node) {
  return as_text(node, core::JsonWriter::Layout::kOneLine);
}

std::string result_json(const RunResult& result) {
  return json_text(result_tree(result));
}

std::string result_ndjson(const RunResult& result) {
  return json_line(result_tree(result));
}

}  // namespace ridgeline::report
