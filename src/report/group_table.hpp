#pragma once

#include <string>

#include "metrics/summary.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {

/// For each label in which requests differ a table of its groups, the largest first, with the
/// columns that fit; empty without any.
[[nodiscard]] std::string group_tables(const metrics::Summary& summary, const TextStyle& style);

}  // namespace ridgeline::report
