#include "metrics/samples.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "core/moments.hpp"
#include "core/quantile_sketch.hpp"
#include "domain/record.hpp"
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

}  // namespace

std::span<const double> quantile_probabilities() {
  return kProbabilities;
}

Distribution describe(const core::Moments& moments, std::span<const double> quantiles) {
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

std::optional<Distribution> distribution_ms(const core::QuantileSketch& sketch) {
  if (sketch.count() == 0) {
    return std::nullopt;
  }
  std::array<double, kProbabilities.size()> quantiles{};
  std::transform(kProbabilities.begin(), kProbabilities.end(), quantiles.begin(), [&](double p) {
    return sketch.quantile(p);
  });
  return describe(sketch.moments(), quantiles);
}

void GapSamples::take_pending() {
  if (percentiles_ == Percentiles::kExact) {
    runs_.add_and_spoil(pending_);
  } else {
    for (std::size_t i = 0; i < pending_.size; ++i) {
      sketch_.add({.first = pending_.first[i],
                   .growth = pending_.growth[i],
                   .count = pending_.count[i],
                   .repeat = pending_.repeat[i]});
    }
  }
  pending_.size = 0;
}

core::Fingerprint GapSamples::fingerprint() {
  take_pending();
  return percentiles_ == Percentiles::kSketch ? sketch_.fingerprint() : runs_.fingerprint();
}

std::optional<Distribution> GapSamples::distribution_ms() {
  take_pending();
  if (percentiles_ == Percentiles::kSketch) {
    return metrics::distribution_ms(sketch_);
  }
  if (runs_.count() == 0) {
    return std::nullopt;
  }
  return describe(runs_.moments(), runs_.quantiles(quantile_probabilities()));
}

}  // namespace ridgeline::metrics
