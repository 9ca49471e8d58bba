#include "metrics/samples.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "metrics/order_search.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "statistics/moments.hpp"
#include "statistics/quantile_sketch.hpp"

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

/// `show` shows all values to the search that it is given.
template <class Show>
Distribution search(const statistics::Moments& moments,
                    const SystematicSample& sample,
                    const Show& show) {
  OrderSearch order(moments, sample, kProbabilities);
  while (!order.done()) {
    show(order);
    order.narrow();
  }
  return describe(moments, order.quantiles());
}

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

std::optional<Distribution> distribution_ms(std::int64_t most, const ValueStream& values) {
  statistics::Moments moments;
  SystematicSample sample(most);
  values([&](std::span<const std::int64_t> block) {
    moments.add(block);
    sample.take(block);
  });
  if (moments.count() == 0) {
    return std::nullopt;
  }
  return search(moments, sample, [&values](OrderSearch& order) {
    values([&order](std::span<const std::int64_t> block) { order.take(block); });
  });
}

std::optional<Distribution> distribution_ms(const statistics::Moments& moments,
                                            const RunStream& runs) {
  if (moments.count() == 0) {
    return std::nullopt;
  }
  SystematicSample sample(moments.count());
  runs([&sample](const RunBlock& block) { sample.take(block); });
  return search(moments, sample, [&runs](OrderSearch& order) {
    runs([&order](const RunBlock& block) { order.take(block); });
  });
}

}  // namespace ridgeline::metrics
