#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "latency/accuracy/bands.hpp"
#include "plan/answer.hpp"
#include "plan/capacity.hpp"
#include "plan/target.hpp"

namespace ridgeline::plan {

/// How far measured latencies lie from predicted ones: the error bands that `run` shows. Nothing
/// where none applies.
struct LatencyDoubt {
  std::optional<accuracy::Band> tpot = {};  ///< For E2E too, which has no band of its own.
  std::optional<accuracy::Band> ttft = {};

  [[nodiscard]] bool is_known() const { return tpot && ttft; }
};
/// Those of a deployment's figures (scenario::expected_errors()).
[[nodiscard]] LatencyDoubt latency_doubt(const std::vector<accuracy::ExpectedError>& errors);

/// The targets, each so much lower that what is predicted to meet them meets the stated ones with
/// that probability. Where no doubt is known, the targets as they are.
[[nodiscard]] Targets tightened(Targets targets, const LatencyDoubt& doubt, double confidence);

/// Levels of TargetResult::sure.
inline constexpr std::array kSurenessLevels = {
    0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, accuracy::kMostSure};
/// The targets, and behind them each attainment tightened to each of kSurenessLevels.
[[nodiscard]] Targets with_levels(const Targets& targets, const LatencyDoubt& doubt);
/// Takes what a run has of these for TargetResult::sure of the stated ones, which alone are kept.
void take_levels(const Targets& stated, std::vector<TargetResult>& results);

/// Probability that the target is met which is surest to be missed, accuracy::kMostSure at most.
/// `results` are predictions at one load. 0 where no doubt is known.
[[nodiscard]] double probability_met(const Targets& targets,
                                     const std::vector<TargetResult>& results,
                                     const LatencyDoubt& doubt);

/// What a deployment carries within its targets.
struct SureLoad {
  Capacity estimate;  ///< The most that is predicted to meet them.
  Capacity sure;      ///< The most that meets them with the confidence asked for.
  double sd = 0.0;    ///< Spread of its logarithm: what the distance of the two amounts to.
};

/// Finds a capacity at these targets, from that guess on; nothing when interrupted.
using FindCapacity =
    std::function<core::Result<std::optional<Capacity>>(const Targets& targets, double guess)>;

/// The others beside an estimate that is known. Nothing when interrupted.
[[nodiscard]] core::Result<std::optional<SureLoad>> find_sure_load(const FindCapacity& find,
                                                                   Capacity estimate,
                                                                   const Targets& targets,
                                                                   const LatencyDoubt& doubt,
                                                                   double confidence);

}  // namespace ridgeline::plan
