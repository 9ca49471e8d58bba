#pragma once

#include <string>

#include "document/document.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {

/// What evidence::validate::validation_tree() holds, for people: errors by group, peers on the same
/// records and what was asked for beside them; on a terminal also what was not scored and why, and
/// the largest outliers by name; on a page predicted against measured, drawn. CSV has a line per
/// record, figure and level. `ranking` stands between, already in that face.
[[nodiscard]] std::string validation_text(const document::Node& tree,
                                          report::Face face,
                                          const report::TextStyle& style,
                                          const std::string& ranking = {});

}  // namespace ridgeline::verbs
