#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/result.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"
#include "verbs/request.hpp"
#include "verbs/run/run_result.hpp"
#include "verbs/verb.hpp"
#include "workload/source.hpp"

namespace ridgeline::verbs {

/// What is kept of a run beside its result.
struct Kept {
  std::int64_t requests = 0;  ///< The most requests of which a row is kept; 0: none.
  bool steps = false;
  std::optional<std::size_t> series_windows = {};
  bool shows_series = false;

  [[nodiscard]] bool any_rows() const { return requests > 0 || steps; }
};
/// Requests that are kept where not all were asked for: some 140 MB.
inline constexpr std::int64_t kUsualRequests = 1'000'000;
/// The keys `keep`, `series` and `series_buckets`.
[[nodiscard]] Kept take_kept(Request& request);

/// A run that is about to begin, to which a host adds what it wants of it.
struct Run {
  const scenario::Resolved& resolved;
  workload::Source& source;
  sim::RunControls& controls;
  const Kept& kept;
};

/// Gathers the run over simulated time, in the usual number of windows where none is asked for.
void gather_series(sim::RunControls& controls);

/// A scenario that was loaded to be looked at may have no workload.
[[nodiscard]] bool has_workload(const scenario::WorkloadSection& workload);

/// Runs a resolved scenario for a host. Fails where its workload cannot be read, where a part of
/// the host fails, and as simulate() does.
[[nodiscard]] core::Result<RunResult> run_for(Host& host,
                                              const scenario::Resolved& resolved,
                                              const Kept& kept,
                                              sim::RunControls controls);

/// Runs a resolved scenario through its requests and assembles the result, with the time it took
/// and the machine's name. Fails as sim::simulate() does.
[[nodiscard]] core::Result<RunResult> simulate(const scenario::Resolved& resolved,
                                               workload::Source& source,
                                               const sim::RunControls& controls);

/// The result of a run with all that can be asked of it; its code says whether it was interrupted
/// and whether a request got an answer.
[[nodiscard]] Reply run_reply(const scenario::Resolved& resolved,
                              RunResult&& result,
                              const Kept& kept,
                              int stopped);

}  // namespace ridgeline::verbs
