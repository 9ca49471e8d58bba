#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "metrics/summary.hpp"
#include "plan/target.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::plan {

/// What of a target is counted over consecutive requests: those that exceed it, or of a mean, the
/// sum of their latencies.
struct BatchCount {
  std::int64_t requests = 0;  ///< That say something of it.
  std::int64_t exceeded = 0;
  double sum_s = 0.0;

  void add(const BatchCount& other);
  friend bool operator==(const BatchCount&, const BatchCount&) = default;
};

/// One target's batches, in the order of arrival.
struct TargetCounts {
  std::vector<BatchCount> batches;

  [[nodiscard]] BatchCount total() const;
};

/// A run of a deployment, in what the statistics of a plan need.
struct ShareRun {
  std::vector<TargetCounts> targets;  ///< One per target.
  std::int64_t requests = 0;
  /// From sending a request to sending the next, of a client that waits for its answer.
  double mean_cycle_s = 0.0;
  bool overloaded = false;  ///< The queue grows throughout.
  bool partial = false;     ///< Interrupted: the counts are not those of the whole run.
  metrics::Summary summary;
};

struct ShareOptions {
  double load = 0.0;           ///< Requests per second, or clients, of what is run.
  std::int64_t requests = 0;   ///< To send; of a trace no more than it has.
  std::int64_t batch = 2'000;  ///< Requests of a batch.
  std::uint64_t seed = 0;      ///< Seed of arrivals, lengths and the rest.
  std::int64_t instances = 1;  ///< Above 1: behind the gateway of the scenario.
  double trace_rate = 0.0;     ///< Rate of a trace as it is: it is sped up to `load`.
  std::int64_t warm_up = 0;    ///< The first so many requests are not counted.
};

/// Runs one deployment (or `instances` of them) at a load. Every deployment meets the same
/// requests: lengths and, in units of their mean, the times between them are functions of seed and
/// number.
[[nodiscard]] core::Result<ShareRun> run_share(const scenario::Resolved& resolved,
                                               const Targets& targets,
                                               const ShareOptions& options,
                                               const std::atomic<bool>& interrupt);

/// Sets clients, or a rate, or how much faster than `trace_rate` a trace comes: what the workload
/// has.
void set_load(scenario::WorkloadSection& workload, double load, double trace_rate);

/// Runs a scenario as it stands, and counts by target in batches as the options say: requests of
/// its own warm-up are left out.
[[nodiscard]] core::Result<ShareRun> count_run(const scenario::Resolved& run,
                                               const Targets& targets,
                                               const ShareOptions& options,
                                               sim::RunControls controls);

/// The scenario that run_share() runs.
[[nodiscard]] scenario::Resolved with_load(const scenario::Resolved& resolved,
                                           const ShareOptions& options);

/// How far a target is from being met: of a share p with a allowed, logit(p) - logit(a), half a
/// request counted to either side so that it is finite; of a mean, log(mean / limit). Above 0: it
/// is missed. Smooth and increasing in the load.
[[nodiscard]] double margin_of(const Target& target, const BatchCount& count);

/// Each batch's part in the margin: margin(all) is about margin(expected) plus the mean of these.
[[nodiscard]] std::vector<double> influences(const Target& target, const TargetCounts& counts);

/// Standard deviation of a mean of consecutive numbers that are nearly independent: of batches.
/// Nothing for fewer than two.
[[nodiscard]] std::optional<double> sd_of_mean(std::span<const double> batches);

}  // namespace ridgeline::plan
