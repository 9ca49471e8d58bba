#pragma once

#include "document/document.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

/// A cluster as a tree: summary.cluster of a result.
[[nodiscard]] document::Node fleet_tree(const FleetSummary& fleet);

}  // namespace ridgeline::metrics
