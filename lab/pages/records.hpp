#pragma once

#include "document/document.hpp"
#include "lab/scoring/findings.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"
#include "verbs/validate_view.hpp"

namespace ridgeline::report {

/// A validation's tree with what was found beside the scores.
[[nodiscard]] document::Node records_tree(const document::Node& validation,
                                          const scoring::Findings& findings);

/// Its sections: ablation, what was left out, the ranking (which no page has).
[[nodiscard]] verbs::AddedSections records_sections(const document::Node& tree,
                                                    Face face,
                                                    const TextStyle& style);

}  // namespace ridgeline::report
