#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "metrics/power_summary.hpp"
#include "plan/share.hpp"
#include "plan/target.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::plan {

/// How the highest load within the targets is looked for.
struct CapacityOptions {
  std::int64_t requests = 32'000;  ///< In each evaluation; more where clients send few each.
  double guess = 0.0;              ///< Where to begin; above 0.
  double slope = 0.0;  ///< Slope of the margin over log load, near the root; 0: not known.
  /// No capacity is higher: max_utilisation of the saturated throughput.
  double ceiling = 0.0;
  std::uint64_t seed = 0;
  double trace_rate = 0.0;   ///< As ShareOptions.
  std::int64_t warm_up = 0;  ///< As ShareOptions, in each evaluation.
  bool is_closed_loop = false;
};

/// One run of the search.
struct Evaluation {
  double load = 0.0;
  double margin = 0.0;     ///< The largest of the targets'.
  std::size_t target = 0;  ///< Whose margin that is.
};

/// What limits a capacity.
enum class Limit : std::uint8_t {
  kTarget,       ///< A target is just met.
  kUtilisation,  ///< All targets hold at max_utilisation of the saturated throughput.
  kNone,         ///< No load meets the targets.
};

struct Capacity {
  double load = 0.0;  ///< Requests per second, or clients; 0 where none meets the targets.
  double requests_per_second = 0.0;  ///< At that load: of clients, by Little's law.
  /// Standard deviation of its logarithm, by sampling: of the batch means, and of runs with few
  /// batches at least what runs of that length were measured to have.
  double sd = 0.0;
  Limit limit = Limit::kTarget;
  std::size_t target = 0;  ///< That binds.
  double slope = 0.0;      ///< Slope of the margin over log load at the root.
  /// Each batch's part in log load, at the run nearest to the root; empty where no target binds.
  std::vector<double> parts;
  std::vector<Evaluation> evaluations;
  std::int64_t requests = 0;                        ///< Simulated in all.
  std::optional<metrics::PowerSummary> power = {};  ///< Power in the run nearest to the root.
  bool unstable = false;      ///< At that load the queue grows throughout the run.
  std::int64_t replicas = 1;  ///< That shared the load of the runs; `load` is that of one.
};

/// Runs of one search once loads on both sides of the root are known, or none is far (planner.md,
/// section 5); and runs besides that look for the root further away.
inline constexpr int kMostEvaluations = 5;
inline constexpr int kMostFarEvaluations = 4;

/// Relative standard deviation of the capacity found by runs of that many requests, as measured
/// (planner.md, section 6: 10 % at 2,000, 7.3 at 5,000, 4.5 at 20,000, about 3 at 50,000).
[[nodiscard]] double expected_sd(std::int64_t requests);

/// The highest load within the targets, by secants on the largest margin over the logarithm of the
/// load, with the same requests at each. Nothing when interrupted.
[[nodiscard]] core::Result<std::optional<Capacity>> find_capacity(
    const scenario::Resolved& resolved,
    const Targets& targets,
    const CapacityOptions& options,
    const std::atomic<bool>& interrupt);

}  // namespace ridgeline::plan
