#include "routing/scorers/scorers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "routing/scorers/candidate.hpp"
#include "routing/scorers/columns.hpp"

namespace ridgeline::routing {
namespace {

/// `value` is a function of a place.
template <class Value>
Scores each(const Columns& all, const Value& value, Scores&& room) {
  Scores scores = std::move(room);
  scores.resize(all.size);
  for (std::size_t i = 0; i < all.size; ++i) {
    scores[i] = value(i);
  }
  return scores;
}

/// (max - x) / (max - min); 1 where all are equal.
Scores lowest_first(const Columns& all, const std::vector<double>& row, Scores&& room) {
  const Extent extent = extent_of(row);
  if (!(extent.highest > extent.lowest)) {
    return each(all, [](std::size_t) { return 1.0; }, std::move(room));
  }
  const double range = extent.highest - extent.lowest;
  return each(
      all, [&](std::size_t i) { return (extent.highest - row[i]) / range; }, std::move(room));
}

/// (x - min) / (max - min); 1 where all are equal.
Scores highest_first(std::span<const double> row, Scores&& room) {
  const Extent extent = extent_of(row);
  Scores scores = std::move(room);
  scores.assign(row.size(), 1.0);
  if (extent.highest > extent.lowest) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      scores[i] = (row[i] - extent.lowest) / (extent.highest - extent.lowest);
    }
  }
  return scores;
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

Scores queue_scores(const Columns& all, Scores room) {
  return lowest_first(all, all.waiting, std::move(room));
}

Scores running_scores(const Columns& all, Scores room) {
  return lowest_first(all, all.running, std::move(room));
}

Scores kv_utilization_scores(const Columns& all, Scores room) {
  return each(all, [&](std::size_t i) { return 1.0 - all.kv_usage[i]; }, std::move(room));
}

Scores load_aware_scores(const Columns& all, double threshold, Scores room) {
  const auto score = [&](std::size_t i) {
    return 0.5 * (1.0 - std::min(all.waiting[i], threshold) / threshold);
  };
  return each(all, score, std::move(room));
}

Scores active_request_scores(const Columns& all,
                             std::int64_t idle,
                             double busy_score,
                             Scores room) {
  const double most = extent_of(all.inflight_requests).highest;
  const auto score = [&](std::size_t i) {
    return all.inflight_requests[i] <= static_cast<double>(idle)
               ? 1.0
               : (most - all.inflight_requests[i]) / most * busy_score;
  };
  return each(all, score, std::move(room));
}

Scores token_load_scores(const Columns& all, double threshold, Scores room) {
  const auto score = [&](std::size_t i) {
    const double tokens = all.inflight_tokens[i] + all.uncached_tokens[i];
    return 1.0 - std::min(tokens, threshold) / threshold;
  };
  return each(all, score, std::move(room));
}

Scores prefix_scores(const Columns& all, double length_weight, double length_scale, Scores room) {
  if (length_weight == 0.0) {
    return each(all, [&](std::size_t i) { return all.ratio(i); }, std::move(room));
  }
  const auto score = [&](std::size_t i) {
    if (all.total[i] <= 0.0 || all.matched[i] == 0.0) {
      return 0.0;
    }
    const double length = std::min(1.0, all.matched[i] * all.block_tokens[i] / length_scale);
    return length_weight * length * length + (1.0 - length_weight) * all.ratio(i);
  };
  return each(all, score, std::move(room));
}

Scores session_affinity_scores(const Columns& all, Scores room) {
  return each(all, [&](std::size_t i) { return all.session[i]; }, std::move(room));
}

double nearness(const Site& one, const Site& other) {
  // llm-d-router ebab687, topology-affinity-scorer.
  constexpr double kSameHost = 1.0;
  constexpr double kSameRack = 0.2;
  constexpr double kSameZone = 0.05;
  constexpr double kSameRegion = 0.02;
  const auto shares = [&](std::int64_t Site::* level) {
    return one.*level >= 0 && one.*level == other.*level;
  };
  return shares(&Site::host)     ? kSameHost
         : shares(&Site::rack)   ? kSameRack
         : shares(&Site::zone)   ? kSameZone
         : shares(&Site::region) ? kSameRegion
                                 : 0.0;
}

Scores topology_affinity_scores(const Columns& all, Scores room) {
  return each(all, [&](std::size_t i) { return all.nearness[i]; }, std::move(room));
}

Scores lora_affinity_scores(Candidates candidates, const std::string& adapter) {
  Scores scores;
  for (const Candidate& one : candidates) {
    scores.push_back(adapter_score(one.adapters, adapter));
  }
  return scores;
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

Scores load_balance_scores(const Columns& all, Scores room) {
  const auto score = [&](std::size_t i) {
    return 1.0 / (1.0 + (all.waiting[i] + all.running[i] + all.inflight_requests[i]));
  };
  return each(all, score, std::move(room));
}

Scores active_requests_scores(const Columns& all, Scores room) {
  const double most = extent_of(all.inflight_requests).highest;
  const auto score = [&](std::size_t i) {
    return most > 0.0 ? (most - all.inflight_requests[i]) / most : 1.0;
  };
  return each(all, score, std::move(room));
}

Scores vllm_dp_scores(const Columns& all, Scores room) {
  std::vector<double> load(all.size);
  for (std::size_t i = 0; i < all.size; ++i) {
    load[i] = 4.0 * all.waiting[i] + all.running[i];
  }
  return lowest_first(all, load, std::move(room));
}

Scores precise_prefix_scores(const Columns& all, Scores room) {
  return highest_first(all.matched, std::move(room));
}

Scores resident_adapter_scores(Candidates candidates, const std::string& adapter) {
  if (adapter.empty()) {
    return Scores(candidates.size(), 1.0);
  }
  std::vector<double> holds;
  for (const Candidate& one : candidates) {
    holds.push_back(has(one.adapters.active, adapter) ? 1.0 : 0.0);
  }
  return highest_first(holds, {});
}

void add_weighted(Scores& sums, const Scores& scores, double weight) {
  for (std::size_t i = 0; i < scores.size(); ++i) {
    sums[i] += weight * std::min(std::max(scores[i], 0.0), 1.0);
  }
}

}  // namespace ridgeline::routing
