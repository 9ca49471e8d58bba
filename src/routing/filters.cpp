#include "routing/filters.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "routing/scorers/candidate.hpp"
#include "routing/scorers/columns.hpp"

namespace ridgeline::routing {
namespace {

Places all_places(std::size_t count) {
  Places places(count);
  std::iota(places.begin(), places.end(), std::size_t{0});
  return places;
}

template <class Keep>
Places kept(std::size_t count, const Keep& keep) {
  Places places;
  for (std::size_t i = 0; i < count; ++i) {
    if (keep(i)) {
      places.push_back(i);
    }
  }
  return places;
}

const std::vector<double>& row_of(const Columns& all, Utilization metric) {
  switch (metric) {
    case Utilization::kWaiting:
      return all.waiting;
    case Utilization::kRunning:
      return all.running;
    case Utilization::kKvUsage:
      return all.kv_usage;
    case Utilization::kInFlight:
      break;
  }
  return all.inflight_requests;
}

double concurrency_of(const Candidate& candidate, const ConcurrencyLimits& limits) {
  const double requests = static_cast<double>(candidate.inflight_requests) / limits.requests;
  const double tokens = static_cast<double>(candidate.inflight_tokens) / limits.tokens;
  return limits.mode == Concurrency::kRequests ? requests
         : limits.mode == Concurrency::kTokens ? tokens
                                               : std::max(requests, tokens);
}

}  // namespace

Places sticky_candidates(const Columns& all, const AffinityOptions& options) {
  double best_sticky = std::numeric_limits<double>::infinity();
  double best_other = std::numeric_limits<double>::infinity();
  Places sticky;
  for (std::size_t i = 0; i < all.size; ++i) {
    const double ttft_ms = all.inflight_tokens[i] / options.prefill_rate * 1000.0;
    if (all.ratio(i) >= options.threshold) {
      sticky.push_back(i);
      best_sticky = std::min(best_sticky, ttft_ms);
    } else {
      best_other = std::min(best_other, ttft_ms);
    }
  }
  const bool too_late = best_sticky - best_other > options.max_penalty_ms;
  return sticky.empty() || too_late ? all_places(all.size) : sticky;
}

Places headroom_tier(const Columns& all, double explore, double drawn) {
  Places in_time;
  Places late;
  in_time.reserve(all.size);
  late.reserve(all.size);
  for (std::size_t i = 0; i < all.size; ++i) {
    (all.headroom[i]->is_met() ? in_time : late).push_back(i);
  }
  return in_time.empty() || (drawn < explore && !late.empty()) ? late : in_time;
}

Places within_limits(const Columns& all,
                     const std::vector<UtilizationLimit>& limits,
                     bool all_if_empty) {
  Places places = kept(all.size, [&](std::size_t i) {
    return std::ranges::all_of(limits, [&](const UtilizationLimit& limit) {
      return row_of(all, limit.metric)[i] <= limit.highest;
    });
  });
  return places.empty() && all_if_empty ? all_places(all.size) : places;
}

Places session_candidates(const Columns& all) {
  Places places = kept(all.size, [&](std::size_t i) { return all.session[i] == 1.0; });
  return places.empty() ? all_places(all.size) : places;
}

double utilization_saturation(Candidates candidates,
                              const std::vector<bool>& stale,
                              const UtilizationThresholds& thresholds) {
  if (candidates.empty()) {
    return 1.0;
  }
  double sum = 0.0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Gauges& gauges = candidates[i].gauges;
    sum += stale[i] ? 1.0
                    : std::max(static_cast<double>(gauges.waiting) / thresholds.queue_depth,
                               gauges.kv_usage / thresholds.kv_usage);
  }
  return sum / static_cast<double>(candidates.size());
}

Places unsaturated(Candidates candidates,
                   const std::vector<bool>& stale,
                   const UtilizationThresholds& thresholds) {
  const double room = 1.0 + thresholds.headroom;
  Places places = kept(candidates.size(), [&](std::size_t i) {
    const Gauges& gauges = candidates[i].gauges;
    return !stale[i] && static_cast<double>(gauges.waiting) < thresholds.queue_depth * room &&
           gauges.kv_usage < thresholds.kv_usage * room;
  });
  return places.empty() ? all_places(candidates.size()) : places;
}

double concurrency_saturation(Candidates candidates, const ConcurrencyLimits& limits) {
  if (candidates.empty()) {
    return 1.0;
  }
  double sum = 0.0;
  for (const Candidate& candidate : candidates) {
    sum += concurrency_of(candidate, limits);
  }
  return sum / static_cast<double>(candidates.size());
}

Places below_concurrency(Candidates candidates, const ConcurrencyLimits& limits) {
  return kept(candidates.size(), [&](std::size_t i) {
    return concurrency_of(candidates[i], limits) < 1.0 + limits.headroom;
  });
}

}  // namespace ridgeline::routing
