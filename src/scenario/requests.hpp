#pragma once

#include <memory>

#include "core/result.hpp"
#include "scenario/rank_share.hpp"
#include "scenario/scenario.hpp"
#include "workload/options.hpp"
#include "workload/source.hpp"

namespace ridgeline::scenario {

/// Fills what the workload section leaves open and what applies to its kind of workload; the rest
/// stays unset.
void fill_workload(WorkloadSection& workload);

/// The workload layer's own words for a filled section without a trace.
[[nodiscard]] workload::SyntheticOptions synthetic_options(const Scenario& scenario);

/// How a scenario with a filled workload section is shared out over its data-parallel ranks. How
/// many requests a trace holds is not known yet.
[[nodiscard]] RankShare rank_share(const Scenario& scenario);

/// A filled workload section as the simulated one of a deployment's data-parallel ranks gets it. A
/// trace is shared out as it is read (workload::dealt_out).
[[nodiscard]] WorkloadSection rank_workload(const Scenario& scenario);

/// The requests that a scenario with a filled workload asks for, made up or from its trace: those
/// of one data-parallel rank.
[[nodiscard]] core::Result<std::unique_ptr<workload::Source>> open_source(const Scenario& scenario);

}  // namespace ridgeline::scenario
