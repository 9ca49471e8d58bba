#pragma once

#include <string>

#include "document/document.hpp"
#include "report/palette.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {

/// A run's result as it is shown, from its tree: latencies, throughput, what held the engine up,
/// the fleet and its groups. For a terminal or as Markdown.
[[nodiscard]] std::string run_text(const document::Node& result,
                                   report::Face face,
                                   const report::TextStyle& style);

/// For each label in which requests differ a table of its groups, the largest first, with the
/// columns that fit; nothing without any.
void add_groups(const document::Node& summary, report::Sheet& sheet);

}  // namespace ridgeline::verbs
