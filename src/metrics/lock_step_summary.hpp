#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ridgeline::metrics {

/// A data-parallel rank in the steps of its group.
struct RankSummary {
  std::int64_t steps = 0;        ///< Steps of its group.
  std::int64_t dummy_steps = 0;  ///< Steps in which it had no request.
  std::optional<double> waited;  ///< Share of the steps' time in which it waited for a longer rank.
};

/// Instances that are data-parallel ranks in lock-step.
struct LockStepSummary {
  std::int64_t ranks = 1;                  ///< Ranks of a group.
  std::vector<RankSummary> per_rank = {};  ///< In the order of the instances.
};

}  // namespace ridgeline::metrics
