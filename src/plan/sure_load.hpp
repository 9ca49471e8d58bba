#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "plan/answer.hpp"
#include "plan/capacity.hpp"
#include "plan/factors.hpp"
#include "plan/target.hpp"

namespace ridgeline::plan {

/// Nothing is said to be surer: no band has so many deployments behind it.
inline constexpr double kMostSure = 0.99;

/// How far measured latencies lie from predicted ones: standard deviations of the logarithm.
/// Infinite where nothing alike was measured.
struct LatencyDoubt {
  double tpot = 0.0;  ///< Of E2E too.
  double ttft = 0.0;

  [[nodiscard]] bool is_known() const { return std::isfinite(tpot) && std::isfinite(ttft); }
};
/// Of a deployment, by the bands of its likes.
[[nodiscard]] LatencyDoubt latency_doubt(const FluidCandidate& candidate);

/// The targets, each so much lower that what is predicted to meet them meets the stated ones with
/// that probability.
[[nodiscard]] Targets tightened(Targets targets, const LatencyDoubt& doubt, double confidence);

/// Probability that the target is met which is surest to be missed, kMostSure at most. `results`
/// are predictions at one load. Of an attainment there is no value to judge by: whether it is met.
[[nodiscard]] double probability_met(const Targets& targets,
                                     const std::vector<TargetResult>& results,
                                     const LatencyDoubt& doubt);

/// What a deployment carries within its targets.
struct SureLoad {
  Capacity estimate;  ///< The most that is predicted to meet them: as often too much as too little.
  Capacity sure;      ///< The most that meets them with the confidence asked for.
};

/// Finds a capacity at these targets, from that guess on; nothing when interrupted.
using FindCapacity =
    std::function<core::Result<std::optional<Capacity>>(const Targets& targets, double guess)>;

/// The second beside a first that is known. Nothing when interrupted.
[[nodiscard]] core::Result<std::optional<SureLoad>> find_sure_load(const FindCapacity& find,
                                                                   Capacity estimate,
                                                                   const Targets& targets,
                                                                   const LatencyDoubt& doubt,
                                                                   double confidence);

/// Standard deviation of the log of the estimate that the distance of the two amounts to.
[[nodiscard]] double sd_of(const SureLoad& load, double confidence);

}  // namespace ridgeline::plan
