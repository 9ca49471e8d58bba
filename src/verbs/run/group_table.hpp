#pragma once

#include <string>

#include "metrics/summary.hpp"
#include "report/palette.hpp"

namespace ridgeline::verbs {

/// For each label in which requests differ a table of its groups, the largest first, with the
/// columns that fit; empty without any.
[[nodiscard]] std::string group_tables(const metrics::Summary& summary,
                                       const report::TextStyle& style);

}  // namespace ridgeline::verbs
