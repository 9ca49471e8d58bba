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

/// A filled workload section as one of a deployment's data-parallel ranks gets it: its part of the
/// request rate, and of requests and clients its part rounded up. A trace is shared out as it is
/// read (workload::dealt_out).
[[nodiscard]] WorkloadSection rank_workload(const Scenario& scenario);

/// The requests that a scenario with a filled workload asks for, made up or from its trace: those
/// of one data-parallel rank.
[[nodiscard]] core::Result<std::unique_ptr<workload::Source>> open_source(const Scenario& scenario);

}  // namespace ridgeline::sim
