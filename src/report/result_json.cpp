#include "report/result_json.hpp"

#include <string>

#include "core/document.hpp"
#include "core/json_writer.hpp"
#include "core/node_json.hpp"
#include "report/result_tree.hpp"
#include "report/run_result.hpp"

namespace ridgeline::report {
namespace {

std::string as_text(const core::Node& node, core::JsonWriter::Layout layout) {
  core::JsonWriter json(layout);
  core::write(node, json);
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
