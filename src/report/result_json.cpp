#include "report/result_json.hpp"

#include <string>

#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/node_json.hpp"
#include "report/result_tree.hpp"
#include "report/run_result.hpp"

namespace ridgeline::report {
namespace {

std::string as_text(const document::Node& node, document::JsonWriter::Layout layout) {
  document::JsonWriter json(layout);
  document::write(node, json);
  return json.text() + "\n";
}

}  // namespace

std::string json_text(const document::Node& node) {
  return as_text(node, document::JsonWriter::Layout::kIndented);
}

std::string json_line(const document::Node& node) {
  return as_text(node, document::JsonWriter::Layout::kOneLine);
}

std::string result_json(const RunResult& result) {
  return json_text(result_tree(result));
}

std::string result_ndjson(const RunResult& result) {
  return json_line(result_tree(result));
}

}  // namespace ridgeline::report
