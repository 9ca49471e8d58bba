#pragma once

#include <string>

#include "document/document.hpp"
#include "metrics/summary.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {

/// summary.cluster.per_pool of a result.
[[nodiscard]] document::Node pools_tree(const metrics::FleetSummary& fleet);
/// A row per pool, and what each consists of; empty where there are none.
[[nodiscard]] std::string pools_table(const metrics::Summary& summary, const TextStyle& style);

}  // namespace ridgeline::report
