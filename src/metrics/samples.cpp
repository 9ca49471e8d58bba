#include "metrics/samples.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/statistics/moments.hpp"
#include "core/statistics/quantile_sketch.hpp"
#include "metrics/order_search.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {
namespace {

constexpr std::array kQuantiles = {
    Statistic::kP50, Statistic::kP90, Statistic::kP95, Statistic::kP99};
constexpr std::array kProbabilities = {0.50, 0.90, 0.95, 0.99};
static_assert(kQuantiles.size() == kProbabilities.size());

/// Division, not a factor of 1e-9: that is the nearest double to the decimal number.
double to_milliseconds(double picoseconds) {
  return picoseconds / 1e9;
}

/// `quantiles` in picoseconds, one for each of kProbabilities.
Distribution describe(const statistics::Moments& moments, std::span<const double> quantiles) {
  Distribution distribution;
  const auto set = [&](Statistic statistic, double picoseconds) {
    distribution.values[static_cast<std::size_t>(statistic)] = to_milliseconds(picoseconds);
  };
  set(Statistic::kMean, moments.mean());
  set(Statistic::kStd, moments.std_dev());
  set(Statistic::kMax, static_cast<double>(moments.max()));
  for (std::size_t i = 0; i < kQuantiles.size(); ++i) {
    set(kQuantiles[i], quantiles[i]);
  }
  return distribution;
}

/// One of several lists of values.
struct SampledList {
  statistics::Moments moments;
  SystematicSample sample;
  std::optional<OrderSearch> search;  ///< Search in a list that has values.
};

}  // namespace

std::optional<Distribution> distribution_ms(const statistics::QuantileSketch& sketch) {
  if (sketch.count() == 0) {
    return std::nullopt;
  }
  std::array<double, kProbabilities.size()> quantiles{};
  std::transform(kProbabilities.begin(), kProbabilities.end(), quantiles.begin(), [&](double p) {
    return sketch.quantile(p);
  });
  return describe(sketch.moments(), quantiles);
}

std::vector<std::optional<Distribution>> distributions_ms(std::size_t num_lists,
                                                          std::int64_t most,
                                                          const ListStream& lists) {
  std::vector<SampledList> all(num_lists,
                               {.moments = {}, .sample = SystematicSample(most), .search = {}});
  lists([&all](ListBlocks blocks) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].moments.add(blocks[i]);
      all[i].sample.take(blocks[i]);
    }
  });
  for (SampledList& list : all) {
    if (list.moments.count() > 0) {
      list.search.emplace(list.moments, list.sample, kProbabilities);
    }
  }
  const auto unfinished = [](const SampledList& list) {
    return list.search && !list.search->done();
  };
  while (std::ranges::any_of(all, unfinished)) {
    lists([&all](ListBlocks blocks) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].search) {
          all[i].search->take(blocks[i]);
        }
      }
    });
    for (SampledList& list : all) {
      if (list.search) {
        list.search->narrow();
      }
    }
  }
  std::vector<std::optional<Distribution>> distributions;
  for (const SampledList& list : all) {
    distributions.push_back(list.search
                                ? std::optional(describe(list.moments, list.search->quantiles()))
                                : std::nullopt);
  }
  return distributions;
}

std::optional<Distribution> distribution_ms(const statistics::Moments& moments,
                                            const RunStream& runs) {
  if (moments.count() == 0) {
    return std::nullopt;
  }
  SystematicSample sample(moments.count());
  runs([&sample](const RunBlock& block) { sample.take(block); });
  OrderSearch search(moments, sample, kProbabilities);
  while (!search.done()) {
    runs([&search](const RunBlock& block) { search.take(block); });
    search.narrow();
  }
  return describe(moments, search.quantiles());
}

}  // namespace ridgeline::metrics
