#pragma once

#include <string>

#include "document/document.hpp"
#include "report/run_result.hpp"

namespace ridgeline::report {

/// A tree as JSON, indented or on one line, with a line break at its end. Its numbers must be
/// finite (report/tree.hpp sees to that).
[[nodiscard]] std::string json_text(const document::Node& node);
[[nodiscard]] std::string json_line(const document::Node& node);

/// The whole result (result_tree) as indented JSON, and as one line of a log of runs.
[[nodiscard]] std::string result_json(const RunResult& result);
[[nodiscard]] std::string result_ndjson(const RunResult& result);

}  // namespace ridgeline::report
