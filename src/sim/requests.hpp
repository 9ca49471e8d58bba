#pragma once

#include <memory>

#include "core/result.hpp"
#include "sim/scenario.hpp"
#include "workload/options.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {

/// Fills what the workload section leaves open and what applies to its kind of workload; the rest
/// stays unset.
void fill_workload(WorkloadSection& workload);

/// The workload layer's own words for a filled section without a trace.
[[nodiscard]] workload::SyntheticOptions synthetic_options(const Scenario& scenario);

/// The requests that a scenario with a filled workload asks for: made up, or from its trace.
[[nodiscard]] core::Result<std::unique_ptr<workload::Source>> open_source(const Scenario& scenario);

}  // namespace ridgeline::sim
