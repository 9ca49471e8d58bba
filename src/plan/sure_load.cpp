#include "plan/sure_load.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "core/distributions.hpp"
#include "core/math.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "latency/accuracy/bands.hpp"
#include "metrics/slo.hpp"
#include "plan/answer.hpp"
#include "plan/capacity.hpp"
#include "plan/target.hpp"

namespace ridgeline::plan {
namespace {

/// Where no load is sure, the distance to one that is: a tenth of the estimate at most.
constexpr double kLeastSureShare = 0.1;
/// A spread is not read off a confidence below this: at one half no distance is left.
constexpr double kLeastSpreadConfidence = 0.8;

const std::optional<accuracy::Band>& band_of(const LatencyDoubt& doubt, std::size_t metric) {
  return static_cast<metrics::Metric>(metric) == metrics::Metric::kTtft ? doubt.ttft : doubt.tpot;
}

}  // namespace

LatencyDoubt latency_doubt(const std::vector<accuracy::ExpectedError>& errors) {
  LatencyDoubt doubt;
  for (const accuracy::ExpectedError& error : errors) {
    if (error.band.metric == accuracy::Metric::kTpot) {
      doubt.tpot = error.band;
    } else if (error.band.metric == accuracy::Metric::kTtft) {
      doubt.ttft = error.band;
    }
  }
  return doubt;
}

Targets tightened(Targets targets, const LatencyDoubt& doubt, double confidence) {
  for (Target& target : targets) {
    for (std::size_t i = 0; i < target.limits.size(); ++i) {
      const auto& band = band_of(doubt, i);
      auto& limit = target.limits[i];
      if (limit && band) {
        limit = core::Duration::saturating(core::Seconds(
            limit->to_seconds() * core::exp(-accuracy::log_ratio_at(*band, confidence))));
      }
    }
  }
  return targets;
}

Targets with_levels(const Targets& targets, const LatencyDoubt& doubt) {
  Targets all = targets;
  for (const Target& target : targets) {
    if (target.is_attainment && doubt.is_known()) {
      for (const double level : kSurenessLevels) {
        all.push_back(tightened({target}, doubt, level).front());
      }
    }
  }
  return all;
}

void take_levels(const Targets& stated, std::vector<TargetResult>& results) {
  std::size_t next = stated.size();
  for (std::size_t i = 0; i < stated.size(); ++i) {
    for (std::size_t k = 0;
         stated[i].is_attainment && next < results.size() && k < kSurenessLevels.size();
         ++k, ++next) {
      results[i].sure = results[next].met ? kSurenessLevels.at(k) : results[i].sure;
    }
  }
  results.resize(stated.size());
}

double probability_met(const Targets& targets,
                       const std::vector<TargetResult>& results,
                       const LatencyDoubt& doubt) {
  double least = accuracy::kMostSure;
  for (const TargetResult& result : results) {
    const Target& target = targets[result.target];
    if (!result.value_ms) {
      least = std::min(least, result.sure);
      continue;
    }
    const auto metric = static_cast<std::size_t>(target.metric());
    const auto& band = band_of(doubt, metric);
    const double above = core::log(target.limits[metric]->to_milliseconds() /
                                   std::max(result.value_ms->value, 1e-9));
    least = std::min(least, band ? accuracy::probability_below(*band, above) : 0.0);
  }
  return least;
}

core::Result<std::optional<SureLoad>> find_sure_load(const FindCapacity& find,
                                                     Capacity estimate,
                                                     const Targets& targets,
                                                     const LatencyDoubt& doubt,
                                                     double confidence) {
  SureLoad found{.estimate = std::move(estimate), .sure = {}};
  found.sure.limit = Limit::kNone;
  const double most = found.estimate.load;
  if (!(most > 0.0) || !doubt.is_known()) {
    return found;
  }
  const auto find_at = [&](double sureness) {
    return find(tightened(targets, doubt, sureness), most);
  };
  auto sure = find_at(confidence);
  if (!sure || !*sure) {
    return sure ? core::Result<std::optional<SureLoad>>(std::nullopt)
                : core::fail(std::move(sure).error());
  }
  found.sure = std::move(**sure);
  double least = found.sure.load;
  const double spread_at = std::max(confidence, kLeastSpreadConfidence);
  if (spread_at > confidence) {
    auto surer = find_at(spread_at);
    if (!surer || !*surer) {
      return surer ? core::Result<std::optional<SureLoad>>(std::nullopt)
                   : core::fail(std::move(surer).error());
    }
    least = (*surer)->load;
    found.sure.requests += (*surer)->requests;
  }
  found.sd = std::max(0.0, core::log(most / std::max(least, most * kLeastSureShare))) /
             core::normal_quantile(spread_at);
  return found;
}

}  // namespace ridgeline::plan
