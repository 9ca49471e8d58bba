#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/time.hpp"
#include "plan/demand.hpp"
#include "plan/fluid.hpp"
#include "plan/target.hpp"

namespace ridgeline::plan {

/// Why no load, however light, meets a target: a proof, no simulation.
struct BoundProof {
  std::size_t target = 0;   ///< Which of the targets.
  core::Duration at_least;  ///< What its statistic is, with an empty engine and no queue.
  std::int64_t input = 0;   ///< Tokens of the prompt that says so.
  std::int64_t output = 0;
  std::string text = {};  ///< "takes 131 ms for the p99 prompt of 6100 tokens alone"
};

/// Closed forms of one deployment without a queue.
struct Bounds {
  std::optional<BoundProof> proof = {};  ///< That a target cannot be met.
  /// A rate above which requests pile up whatever the engine does: the smaller of what full batches
  /// decode and of what steps full of prompts compute. No capacity is higher.
  double most_rate = 0.0;
};

/// The sampled requests' latencies, each alone in an empty engine, bound those under load from
/// below: a step with more work takes no less. The target's quantile over the requests is taken of
/// those bounds. A target's `scale` 1 means the question's own limits.
[[nodiscard]] Bounds bounds_of(const FluidInputs& inputs, const Targets& targets);

/// Least value of a target's statistic: the least limit that bounds_of() would not refuse.
[[nodiscard]] BoundProof least_of(const FluidInputs& inputs,
                                  const Target& target,
                                  metrics::Metric metric);

}  // namespace ridgeline::plan
