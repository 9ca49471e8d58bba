#include "verbs/run/result_json.hpp"

#include <string>

#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/node_json.hpp"
#include "metrics/series_tree.hpp"
#include "verbs/run/result_tree.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {
namespace {

/// A series is written as it is made, without a tree of its own.
std::string as_text(const RunResult& result, document::JsonWriter::Layout layout) {
  const document::Node tree = result_tree(result, SeriesIn::kNull);
  document::JsonWriter json(layout);
  json.begin_object();
  for (const auto& [key, value, where] : tree.members()) {
    json.key(key);
    if (result.series && key == "series") {
      metrics::write_series(*result.series, json);
    } else {
      document::write(value, json);
    }
  }
  json.end_object();
  return json.text() + "\n";
}

}  // namespace

std::string result_json(const RunResult& result) {
  return as_text(result, document::JsonWriter::Layout::kIndented);
}

std::string result_ndjson(const RunResult& result) {
  return as_text(result, document::JsonWriter::Layout::kOneLine);
}

}  // namespace ridgeline::verbs
