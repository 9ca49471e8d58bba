#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "routing/scorers/candidate.hpp"
#include "routing/scorers/columns.hpp"
#include "routing/scorers/scorers.hpp"

namespace ridgeline::routing {
namespace {

/// A range below this is none: all are in the middle of it.
constexpr double kNoRange = 1e-9;

/// An endpoint without a prediction beside others that have one counts as just in time.
Headroom headroom_of(const Columns& all, std::size_t place) {
  return all.headroom[place].value_or(Headroom{.ttft_ms = 0.0, .tpot_ms = 0.0});
}

/// Without predictions: the mean of free cache, short queue and matched prefix, in hundredths; of
/// free cache alone where the weights leave nothing.
Scores composite_scores(const Columns& all, const LatencyWeights& weights) {
  const double longest = extent_of(all.waiting).highest;
  const double sum = weights.kv + weights.queue + weights.prefix;
  Scores scores;
  for (std::size_t i = 0; i < all.size; ++i) {
    const double queue = longest > 0.0 ? (longest - all.waiting[i]) / longest : 1.0;
    const double free = 1.0 - all.kv_usage[i];
    const double mean =
        sum > 0.0
            ? (weights.kv * free + weights.queue * queue + weights.prefix * all.ratio(i)) / sum
            : free;
    scores.push_back(std::round(100.0 * mean) / 100.0);
  }
  return scores;
}

/// The places of the best class that is not empty: nothing late; all late: idle; only the tokens
/// late; only the first token late; both.
std::vector<std::size_t> best_class(const Columns& all) {
  enum Class : std::uint8_t { kNone, kIdle, kTpot, kTtft, kBoth, kCount };
  const auto class_of = [&](std::size_t i) {
    const Headroom room = headroom_of(all, i);
    const bool ttft_late = room.ttft_ms < 0.0;
    const bool tpot_late = room.tpot_ms < 0.0;
    if (!ttft_late && !tpot_late) {
      return kNone;
    }
    if (all.inflight_requests[i] == 0.0) {
      return kIdle;
    }
    return ttft_late && tpot_late ? kBoth : (ttft_late ? kTtft : kTpot);
  };
  std::vector<std::size_t> places;
  places.reserve(all.size);
  Class best = kCount;
  for (std::size_t i = 0; i < all.size; ++i) {
    const Class own = class_of(i);
    if (own < best) {
      best = own;
      places.clear();
    }
    if (own == best) {
      places.push_back(i);
    }
  }
  return places;
}

/// The combined, normalised size of the headroom of each place.
std::vector<double> combined(const Columns& all,
                             const std::vector<std::size_t>& places,
                             const LatencyWeights& weights) {
  std::vector<double> ttft;
  std::vector<double> tpot;
  ttft.reserve(places.size());
  tpot.reserve(places.size());
  for (const std::size_t place : places) {
    ttft.push_back(std::abs(headroom_of(all, place).ttft_ms));
    tpot.push_back(std::abs(headroom_of(all, place).tpot_ms));
  }
  const auto [ttft_low, ttft_high] = std::ranges::minmax(ttft);
  const auto [tpot_low, tpot_high] = std::ranges::minmax(tpot);
  double ttft_weight = weights.ttft / (weights.ttft + weights.tpot);
  double tpot_weight = weights.tpot / (weights.ttft + weights.tpot);
  const bool ttft_flat = ttft_high - ttft_low <= kNoRange;
  const bool tpot_flat = tpot_high - tpot_low <= kNoRange;
  if (ttft_flat != tpot_flat) {
    ttft_weight = ttft_flat ? 0.0 : 1.0;
    tpot_weight = 1.0 - ttft_weight;
  }
  constexpr double kMiddle = 0.5;
  std::vector<double> sums;
  sums.reserve(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double a = ttft_flat ? kMiddle : (ttft[i] - ttft_low) / (ttft_high - ttft_low);
    const double b = tpot_flat ? kMiddle : (tpot[i] - tpot_low) / (tpot_high - tpot_low);
    sums.push_back(ttft_weight * a + tpot_weight * b);
  }
  return sums;
}

}  // namespace

Scores latency_scores(const Columns& all, const LatencyWeights& weights) {
  const bool predicted = std::ranges::any_of(
      all.headroom, [](const std::optional<Headroom>& one) { return one.has_value(); });
  if (!predicted) {
    return composite_scores(all, weights);
  }
  const auto places = best_class(all);
  const auto sums = combined(all, places, weights);
  // Where all are late, the least late.
  const Headroom any = headroom_of(all, places.front());
  const bool prefers_most = weights.most_headroom && any.ttft_ms >= 0.0 && any.tpot_ms >= 0.0;
  Scores scores(all.size, 0.0);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double share = prefers_most ? sums[i] : 1.0 - sums[i];
    scores[places[i]] = (std::floor(100.0 * share) + 1.0) / 100.0;
  }
  return scores;
}

}  // namespace ridgeline::routing
