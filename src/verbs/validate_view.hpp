#pragma once

#include <string>

#include "document/document.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {

/// Sections beside those of every validation, already in its face.
struct AddedSections {
  std::string behind_peers = {};
  std::string behind_coverage = {};
};
using AddSections = AddedSections (*)(const document::Node& tree,
                                      report::Face face,
                                      const report::TextStyle& style);
/// From now on validations have these too: a program that adds to their trees says so at its start.
void add_to_validations(AddSections add);

/// What evidence::validate::validation_tree() holds, for people: errors by group, peers on the same
/// records and what was asked for beside them; on a terminal also what was not scored and why, and
/// the largest outliers by name; on a page predicted against measured, drawn. CSV has a line per
/// record, figure and level.
[[nodiscard]] std::string validation_text(const document::Node& tree,
                                          report::Face face,
                                          const report::TextStyle& style);

}  // namespace ridgeline::verbs
