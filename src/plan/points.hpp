#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "plan/answer.hpp"
#include "plan/demand.hpp"
#include "plan/fluid.hpp"
#include "plan/question.hpp"
#include "plan/space.hpp"
#include "plan/sure_load.hpp"

namespace ridgeline::plan {

/// A point that could serve, as far as formulas say.
struct OpenPoint {
  std::size_t candidate = 0;  ///< In Points::candidates.
  LoadRange range;            ///< One replica's load within the targets.
  LatencyDoubt doubt;         ///< A bound has none.
  /// One replica's load within targets that leave room for the doubt; nothing where bounds say that
  /// it meets them at no load.
  std::optional<LoadRange> sure_range;
};

/// The nearest miss of a target: what the best point reaches without load.
struct NearestMiss {
  std::size_t target = 0;
  core::Duration limit;  ///< That would admit it.
  std::size_t candidate = 0;
  std::string proof;
};

/// One replica that takes more GPUs than the limits allow.
struct BeyondLimits {
  std::string label;
  std::string gpu;
  std::int64_t gpus = 0;
  bool is_bounded = false;  ///< No load meets its targets.
};

/// Every point of a space looked at without a run (stages 0 to 2).
struct Points {
  Demand demand;
  std::vector<PlanCandidate> candidates;  ///< Those that fit, in canonical order.
  std::vector<OpenPoint> open;            ///< Candidates that no bound refuses.
  std::vector<Rejection> rejected;
  std::vector<NearestMiss> misses;  ///< One per target that refuses points.
  /// The fewest GPUs of what fits but for the limits; of those that could meet the targets, if any.
  std::optional<BeyondLimits> beyond_limits;
  core::Warnings warnings;  ///< That all of those that fit have.
  std::string engine;       ///< Engine of those that fit; several by commas.
  std::int64_t points = 0;
  bool interrupted = false;
};

/// Enumerates, rejects by rule, and bounds. Fails where no point's settings make sense, with the
/// problems of the first, and where the workload cannot be read.
[[nodiscard]] core::Result<Points> look_at_points(
    const Question& question,
    Space& space,
    std::int64_t jobs,
    const std::function<void(std::int64_t done, std::int64_t all)>& progress,
    const std::atomic<bool>& interrupt);

/// Replicas of that many GPUs that the limits allow.
[[nodiscard]] std::int64_t most_replicas(const Limits& limits,
                                         const std::string& gpu,
                                         std::int64_t gpus_per_replica);

}  // namespace ridgeline::plan
