#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "report/comparison_page.hpp"
#include "verbs/saved_views.hpp"

namespace ridgeline::verbs {

/// What the files of `report` are: runs (and measured files) for one page, what a sweep found, or
/// the result of another verb.
struct ReportInputs {
  enum class Kind { kRuns, kSweep, kOther };
  Kind kind = Kind::kRuns;
  std::vector<report::PageRun> runs = {};  ///< kRuns: at least one that is not measured.
  std::string file = {};                   ///< The others: its name.
  std::vector<document::Node> rows = {};   ///< kSweep: its points; kOther: the one tree.
  const SavedView* view = nullptr;         ///< kOther.
};

/// Reads results of `run` (.json, .ndjson, .html), measured files that `validate` reads, the rows
/// of a sweep (.ndjson) or what another verb found (.json). Fails with one error where files do not
/// go together.
[[nodiscard]] core::Result<ReportInputs> read_report_inputs(const std::vector<std::string>& paths);

}  // namespace ridgeline::verbs
