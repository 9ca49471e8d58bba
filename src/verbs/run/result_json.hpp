#pragma once

#include <string>

#include "document/document.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {

/// The whole result (result_tree) as indented JSON, and as one line of a log of runs.
[[nodiscard]] std::string result_json(const RunResult& result);
[[nodiscard]] std::string result_ndjson(const RunResult& result);

}  // namespace ridgeline::verbs
