#pragma once

#include <string>

#include "document/document.hpp"
#include "metrics/summary.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {

/// A cluster as a tree: summary.cluster of a result.
[[nodiscard]] document::Node fleet_tree(const metrics::FleetSummary& fleet);
/// A line of the gateway and a row per instance; empty where a single instance served.
[[nodiscard]] std::string fleet_table(const metrics::Summary& summary, const TextStyle& style);

}  // namespace ridgeline::report
