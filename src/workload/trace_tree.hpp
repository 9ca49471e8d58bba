#pragma once

#include "document/document.hpp"
#include "workload/trace_stats.hpp"

namespace ridgeline::workload {

/// What `trace` found, for programs.
[[nodiscard]] document::Node trace_tree(const TraceStats& stats);

}  // namespace ridgeline::workload
