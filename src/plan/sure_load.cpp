#include "plan/sure_load.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "accuracy/bands.hpp"
#include "core/distributions.hpp"
#include "core/math.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "metrics/slo.hpp"
#include "plan/answer.hpp"
#include "plan/capacity.hpp"
#include "plan/factors.hpp"
#include "plan/linear_doubt.hpp"
#include "plan/plan_bands.hpp"
#include "plan/target.hpp"

namespace ridgeline::plan {
namespace {

/// Where no load is sure, the distance to one that is: a tenth of the estimate at most.
constexpr double kLeastSureShare = 0.1;

double sd_of(const LatencyDoubt& doubt, std::size_t metric) {
  return static_cast<metrics::Metric>(metric) == metrics::Metric::kTtft ? doubt.ttft : doubt.tpot;
}

}  // namespace

LatencyDoubt latency_doubt(const FluidCandidate& candidate) {
  const auto of = [&](accuracy::Metric metric) {
    const BandSpread spread = spread_of(plan_bands(), candidate, metric);
    return spread.error ? spread.sd : std::numeric_limits<double>::infinity();
  };
  return {.tpot = of(accuracy::Metric::kTpot), .ttft = of(accuracy::Metric::kTtft)};
}

Targets tightened(Targets targets, const LatencyDoubt& doubt, double confidence) {
  const double z = core::normal_quantile(confidence);
  for (Target& target : targets) {
    for (std::size_t i = 0; i < target.limits.size(); ++i) {
      if (auto& limit = target.limits[i]) {
        limit = core::Duration::saturating(
            core::Seconds(limit->to_seconds() * core::exp(-z * sd_of(doubt, i))));
      }
    }
  }
  return targets;
}

double probability_met(const Targets& targets,
                       const std::vector<TargetResult>& results,
                       const LatencyDoubt& doubt) {
  double least = kMostSure;
  for (const TargetResult& result : results) {
    const Target& target = targets[result.target];
    if (!result.value_ms) {
      least = result.met ? least : 0.0;
      continue;
    }
    const auto metric = static_cast<std::size_t>(target.metric());
    const double above = core::log(target.limits[metric]->to_milliseconds() /
                                   std::max(result.value_ms->value, 1e-9));
    const double sd = sd_of(doubt, metric);
    least = std::min(least,
                     sd > 0.0      ? normal_probability(above / sd)
                     : above < 0.0 ? 0.0
                                   : kMostSure);
  }
  return least;
}

core::Result<std::optional<SureLoad>> find_sure_load(const FindCapacity& find,
                                                     Capacity estimate,
                                                     const Targets& targets,
                                                     const LatencyDoubt& doubt,
                                                     double confidence) {
  SureLoad found{.estimate = std::move(estimate), .sure = {}};
  if (!(found.estimate.load > 0.0) || !doubt.is_known()) {
    found.sure.limit = Limit::kNone;
    return found;
  }
  auto sure = find(tightened(targets, doubt, confidence), found.estimate.load);
  if (!sure) {
    return core::fail(std::move(sure).error());
  }
  if (!*sure) {
    return std::nullopt;
  }
  found.sure = std::move(**sure);
  return found;
}

double sd_of(const SureLoad& load, double confidence) {
  if (!(load.estimate.load > 0.0)) {
    return 0.0;
  }
  const double least = load.estimate.load * kLeastSureShare;
  return std::max(0.0, core::log(load.estimate.load / std::max(load.sure.load, least))) /
         core::normal_quantile(confidence);
}

}  // namespace ridgeline::plan
