#include "routing/scorers/scorers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "routing/scorers/candidate.hpp"

namespace ridgeline::routing {
namespace {

template <class Value>
Scores each(Candidates candidates, const Value& value) {
  Scores scores;
  scores.reserve(candidates.size());
  for (const Candidate& candidate : candidates) {
    scores.push_back(value(candidate));
  }
  return scores;
}

/// (max - x) / (max - min); 1 where all are equal.
template <class Value>
Scores lowest_first(Candidates candidates, const Value& value) {
  const Extent extent = extent_of(candidates, value);
  return each(candidates, [&](const Candidate& candidate) {
    return extent.highest > extent.lowest
               ? (extent.highest - static_cast<double>(value(candidate))) /
                     (extent.highest - extent.lowest)
               : 1.0;
  });
}

/// (x - min) / (max - min); 1 where all are equal.
template <class Value>
Scores highest_first(Candidates candidates, const Value& value) {
  const Extent extent = extent_of(candidates, value);
  return each(candidates, [&](const Candidate& candidate) {
    return extent.highest > extent.lowest
               ? (static_cast<double>(value(candidate)) - extent.lowest) /
                     (extent.highest - extent.lowest)
               : 1.0;
  });
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

double adapter_score(const Adapters& adapters, const std::string& adapter) {
  constexpr double kLoaded = 1.0;
  constexpr double kRoom = 0.8;
  constexpr double kWaits = 0.6;
  const auto held = static_cast<std::int64_t>(adapters.active.size() + adapters.waiting.size());
  return has(adapters.active, adapter)    ? kLoaded
         : held < adapters.most           ? kRoom
         : has(adapters.waiting, adapter) ? kWaits
                                          : 0.0;
}

}  // namespace

Scores queue_scores(Candidates candidates) {
  return lowest_first(candidates, [](const Candidate& one) { return one.gauges.waiting; });
}

Scores running_scores(Candidates candidates) {
  return lowest_first(candidates, [](const Candidate& one) { return one.gauges.running; });
}

Scores kv_utilization_scores(Candidates candidates) {
  return each(candidates, [](const Candidate& one) { return 1.0 - one.gauges.kv_usage; });
}

Scores load_aware_scores(Candidates candidates, double threshold) {
  return each(candidates, [&](const Candidate& one) {
    const auto waiting = static_cast<double>(one.gauges.waiting);
    return 0.5 * (1.0 - std::min(waiting, threshold) / threshold);
  });
}

Scores active_request_scores(Candidates candidates, std::int64_t idle, double busy_score) {
  const auto in_flight = [](const Candidate& one) { return one.inflight_requests; };
  const double most = extent_of(candidates, in_flight).highest;
  return each(candidates, [&](const Candidate& one) {
    return one.inflight_requests <= idle
               ? 1.0
               : (most - static_cast<double>(one.inflight_requests)) / most * busy_score;
  });
}

Scores token_load_scores(Candidates candidates, double threshold) {
  return each(candidates, [&](const Candidate& one) {
    const auto tokens = static_cast<double>(one.inflight_tokens + one.uncached_tokens);
    return 1.0 - std::min(tokens, threshold) / threshold;
  });
}

Scores prefix_scores(Candidates candidates, double length_weight, double length_scale) {
  return each(candidates, [&](const Candidate& one) {
    if (one.prefix.total <= 0 || one.prefix.matched == 0) {
      return 0.0;
    }
    if (length_weight == 0.0) {
      return one.prefix.ratio();
    }
    const auto tokens = static_cast<double>(one.prefix.matched * one.prefix.block_tokens);
    const double length = std::min(1.0, tokens / length_scale);
    return length_weight * length * length + (1.0 - length_weight) * one.prefix.ratio();
  });
}

Scores lora_affinity_scores(Candidates candidates, const std::string& adapter) {
  return each(candidates,
              [&](const Candidate& one) { return adapter_score(one.adapters, adapter); });
}

double context_length_score(std::optional<ContextRange> range, std::int64_t prompt_tokens) {
  if (!range) {
    return 0.5;
  }
  if (prompt_tokens < range->lowest || prompt_tokens > range->highest) {
    const std::int64_t distance = prompt_tokens < range->lowest ? range->lowest - prompt_tokens
                                                                : prompt_tokens - range->highest;
    return 0.3 / (1.0 + static_cast<double>(distance) / 1000.0);
  }
  const auto width = static_cast<double>(range->highest - range->lowest);
  if (width <= 0.0) {
    return 1.0;
  }
  const double narrow = 1.0 / (1.0 + width / 10'000.0);
  const double room = static_cast<double>(range->highest - prompt_tokens) / width;
  return 0.3 + 0.7 * (0.7 * narrow + 0.3 * room);
}

Scores load_balance_scores(Candidates candidates) {
  return each(candidates, [](const Candidate& one) {
    return 1.0 / (1.0 + static_cast<double>(one.gauges.waiting + one.gauges.running +
                                            one.inflight_requests));
  });
}

Scores active_requests_scores(Candidates candidates) {
  const auto in_flight = [](const Candidate& one) { return one.inflight_requests; };
  const double most = extent_of(candidates, in_flight).highest;
  return each(candidates, [&](const Candidate& one) {
    return most > 0.0 ? (most - static_cast<double>(one.inflight_requests)) / most : 1.0;
  });
}

Scores vllm_dp_scores(Candidates candidates) {
  return lowest_first(
      candidates, [](const Candidate& one) { return 4 * one.gauges.waiting + one.gauges.running; });
}

Scores precise_prefix_scores(Candidates candidates) {
  return highest_first(candidates, [](const Candidate& one) { return one.prefix.matched; });
}

Scores resident_adapter_scores(Candidates candidates, const std::string& adapter) {
  if (adapter.empty()) {
    return Scores(candidates.size(), 1.0);
  }
  return highest_first(candidates, [&](const Candidate& one) {
    return has(one.adapters.active, adapter) ? 1.0 : 0.0;
  });
}

void add_weighted(Scores& sums, const Scores& scores, double weight) {
  for (std::size_t i = 0; i < scores.size(); ++i) {
    sums[i] += weight * std::clamp(scores[i], 0.0, 1.0);
  }
}

}  // namespace ridgeline::routing
