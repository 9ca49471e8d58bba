#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "report/comparison_page.hpp"

namespace ridgeline::verbs {

/// What the files of `report` are: runs (and measured files) for one page, or what a sweep or a
/// plan found.
struct ReportInputs {
  enum class Kind { kRuns, kSweep, kPlan };
  Kind kind = Kind::kRuns;
  std::vector<report::PageRun> runs = {};  ///< kRuns: at least one that is not measured.
  std::string file = {};                   ///< The others: its name.
  document::Node plan = {};                ///< kPlan.
  std::vector<document::Node> rows = {};   ///< kSweep: its points.
};

/// Reads results of `run` (.json, .ndjson, .html), measured files that `validate` reads, the rows
/// of a sweep (.ndjson) or a plan (.json). Fails with one error where files do not go together.
[[nodiscard]] core::Result<ReportInputs> read_report_inputs(const std::vector<std::string>& paths);

}  // namespace ridgeline::verbs
