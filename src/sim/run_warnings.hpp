#pragma once

#include "core/result.hpp"
#include "metrics/summary.hpp"
#include "scenario/resolve.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {

/// Adds what the reader of a finished run's result should know: requests that were rejected or cut
/// short, an overload, what requests carry and the deployment ignores, and the source's own
/// warnings (those about inference-sim only where the scenario compares with it).
void add_run_warnings(const scenario::Resolved& resolved,
                      const metrics::Summary& summary,
                      const workload::Source& source,
                      core::Warnings& warnings);

}  // namespace ridgeline::sim
