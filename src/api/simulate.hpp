#pragma once

#include "core/result.hpp"
#include "report/run_result.hpp"
#include "scenario/resolve.hpp"
#include "sim/simulation.hpp"
#include "workload/source.hpp"

namespace ridgeline::api {

/// Runs a resolved scenario through its requests and assembles the result, with the time it took
/// and the machine's name. Fails as sim::simulate() does.
[[nodiscard]] core::Result<report::RunResult> simulate(const scenario::Resolved& resolved,
                                                       workload::Source& source,
                                                       const sim::RunControls& controls);

}  // namespace ridgeline::api
