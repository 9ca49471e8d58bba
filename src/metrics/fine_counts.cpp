#include "metrics/fine_counts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/statistics/moments.hpp"
#include "core/statistics/quantile_sketch.hpp"
#include "core/time.hpp"
#include "metrics/order_search.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

std::vector<double> series_probabilities() {
  constexpr std::int64_t kBody = 160;
  constexpr std::int64_t kPerNine = 36;
  std::vector<double> all;
  for (std::int64_t i = 0; i <= kBody * 9 / 10; ++i) {
    all.push_back(static_cast<double>(i) / static_cast<double>(kBody));
  }
  // One minus a tenth, a hundredth, ... times 40/40, 39/40, ..., 4/40.
  for (std::int64_t scale = 400; scale <= 40'000; scale *= 10) {
    for (std::int64_t i = 1; i <= kPerNine; ++i) {
      all.push_back(static_cast<double>(scale - 40 + i) / static_cast<double>(scale));
    }
  }
  all.push_back(1.0);
  return all;
}

void FineCounts::add(std::span<const std::int64_t> ticks) {
  if (!ticks.empty()) {
    make_room();
  }
  for (const std::int64_t time : ticks) {
    ++counts_[Bins::of(static_cast<std::uint64_t>(time))];
  }
}

void FineCounts::add(const RunBlock& runs) {
  if (!runs.first.empty()) {
    make_room();
  }
  for (std::size_t i = 0; i < runs.first.size(); ++i) {
    const auto first = static_cast<std::uint64_t>(runs.first[i]);
    const auto last = static_cast<std::uint64_t>(runs.growth[i] * (runs.count[i] - 1));
    if (Bins::share(first, first + last)) [[likely]] {
      counts_[Bins::of(first)] += runs.count[i] * runs.repeat[i];
    } else {
      add_run({.first = runs.first[i],
               .growth = runs.growth[i],
               .count = runs.count[i],
               .repeat = runs.repeat[i]});
    }
  }
}

/// One that reaches over several bins.
void FineCounts::add_run(const statistics::ArithmeticRun& run) {
  std::int64_t done = 0;
  while (done < run.count) {
    const std::size_t bin = Bins::of(static_cast<std::uint64_t>(run.first + run.growth * done));
    const std::int64_t room = static_cast<std::int64_t>(Bins::last(bin)) - run.first;
    const std::int64_t within = std::min(room / run.growth + 1, run.count);
    counts_[bin] += (within - done) * run.repeat;
    done = within;
  }
}

std::vector<double> FineCounts::quantiles_ms(const Distribution& exact) const {
  const std::vector<double> probabilities = series_probabilities();
  const auto number = std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
  std::vector<double> all;
  std::size_t bin = 0;
  std::int64_t before = 0;  // Times in the bins before it.
  for (const double probability : probabilities) {
    const auto index = static_cast<std::int64_t>(probability * static_cast<double>(number - 1));
    while (before + counts_[bin] <= index) {
      before += counts_[bin++];
    }
    const auto middle = static_cast<std::int64_t>((Bins::first(bin) + Bins::last(bin)) / 2);
    all.push_back(core::Duration::ticks(middle).to_milliseconds());
  }
  constexpr auto kExact = std::to_array<std::pair<double, Statistic>>({{0.5, Statistic::kP50},
                                                                       {0.9, Statistic::kP90},
                                                                       {0.95, Statistic::kP95},
                                                                       {0.99, Statistic::kP99},
                                                                       {1.0, Statistic::kMax}});
  for (const auto& [probability, statistic] : kExact) {
    const double value = exact.of(statistic);
    const auto place = std::ranges::find(probabilities, probability) - probabilities.begin();
    const std::span<double> values = all;
    const auto at = static_cast<std::size_t>(place);
    for (double& less : values.first(at)) {
      less = std::min(less, value);
    }
    for (double& greater : values.subspan(at)) {
      greater = std::max(greater, value);
    }
    values[at] = value;
  }
  return all;
}

std::vector<double> quantiles_ms(const statistics::QuantileSketch& sketch) {
  std::vector<double> all;
  if (sketch.count() > 0) {
    for (const double probability : series_probabilities()) {
      all.push_back(sketch.quantile(probability) / 1e9);
    }
  }
  return all;
}

}  // namespace ridgeline::metrics
