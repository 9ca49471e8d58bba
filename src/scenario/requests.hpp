#pragma once

#include <cstdint>
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
[[nodiscard]] workload::SyntheticOptions synthetic_options(const WorkloadSection& section,
                                                           std::int64_t seed);

/// The requests that a run asks for, made up or from a trace, of which each data-parallel rank of
/// the deployment that serves them gets its share.
struct Workload {
  WorkloadSection section;  ///< Filled.
  std::int64_t seed = 0;
  std::int64_t ranks = 1;

  /// How it is shared out over the ranks. How many requests a trace holds is not known yet.
  [[nodiscard]] RankShare share() const;
  /// The section as the simulated one of the ranks gets it. A trace is shared out as it is read
  /// (workload::dealt_out).
  [[nodiscard]] WorkloadSection of_rank() const;
  /// The requests of the simulated rank. Fails with a trace that cannot be read, or where a rank's
  /// share is out of range.
  [[nodiscard]] core::Result<std::unique_ptr<workload::Source>> open() const;

 private:
  /// Without structured outputs.
  [[nodiscard]] core::Result<std::unique_ptr<workload::Source>> open_source() const;
};

}  // namespace ridgeline::scenario
