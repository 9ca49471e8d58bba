#pragma once

#include <string>
#include <vector>

#include "document/document.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::report {

/// A study's report as a tree (data/schemas/study-result.schema.json): claim, arms, differences,
/// tables, verdicts, finding, warnings.
[[nodiscard]] document::Node study_tree(const studies::StudyReport& report);
/// Several, under `studies`.
[[nodiscard]] document::Node studies_tree(const std::vector<studies::StudyReport>& reports);
/// One study to read, as Markdown.
[[nodiscard]] std::string study_markdown(const studies::StudyReport& report);
/// Studies as one page that asks nothing of the network.
[[nodiscard]] std::string studies_html(const std::vector<studies::StudyReport>& reports);

}  // namespace ridgeline::report
