#include "metrics/samples.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/moments.hpp"
#include "core/quantile_sketch.hpp"
#include "core/quantiles.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {
namespace {

constexpr std::array<std::pair<Statistic, double>, 4> kQuantiles = {{{Statistic::kP50, 0.50},
                                                                     {Statistic::kP90, 0.90},
                                                                     {Statistic::kP95, 0.95},
                                                                     {Statistic::kP99, 0.99}}};

/// Division, not a factor of 1e-9: that is the nearest double to the decimal number.
double to_milliseconds(double picoseconds) {
  return picoseconds / 1e9;
}

/// `quantiles` in picoseconds, in the order of kQuantiles.
Distribution describe(const core::Moments& moments, const std::vector<double>& quantiles) {
  Distribution distribution;
  const auto set = [&](Statistic statistic, double picoseconds) {
    distribution.values[static_cast<std::size_t>(statistic)] = to_milliseconds(picoseconds);
  };
  set(Statistic::kMean, moments.mean());
  set(Statistic::kStd, moments.std_dev());
  set(Statistic::kMax, static_cast<double>(moments.max()));
  for (std::size_t i = 0; i < kQuantiles.size(); ++i) {
    set(kQuantiles[i].first, quantiles[i]);
  }
  return distribution;
}

std::vector<double> probabilities() {
  std::vector<double> values;
  values.reserve(kQuantiles.size());
  for (const auto& [statistic, p] : kQuantiles) {
    values.push_back(p);
  }
  return values;
}

Distribution describe(const core::QuantileSketch& sketch) {
  std::vector<double> quantiles;
  quantiles.reserve(kQuantiles.size());
  for (const auto& [statistic, p] : kQuantiles) {
    quantiles.push_back(sketch.quantile(p));
  }
  return describe(sketch.moments(), quantiles);
}

}  // namespace

std::optional<Distribution> RequestSamples::distribution_ms() {
  if (percentiles_ == Percentiles::kSketch) {
    return sketch_.count() > 0 ? std::optional(describe(sketch_)) : std::nullopt;
  }
  return distributions_ms({}).first;
}

std::pair<std::optional<Distribution>, std::optional<Distribution>>
RequestSamples::distributions_ms(core::Duration offset) {
  RIDGELINE_CHECK(percentiles_ == Percentiles::kExact, "a sketch has no values to shift");
  if (values_.empty()) {
    return {};
  }
  const auto brackets = core::quantile_brackets(values_, probabilities());
  const auto less = [&](std::int64_t by) {
    std::vector<double> quantiles;
    quantiles.reserve(brackets.size());
    for (const core::QuantileBracket& bracket : brackets) {
      quantiles.push_back(bracket.value(by));
    }
    return describe(moments_.less(by), quantiles);
  };
  return {less(0), less(offset.count())};
}

void GapSamples::add(const domain::TokenGaps& gaps) {
  if (percentiles_ == Percentiles::kSketch) {
    sketch_.add({.first = gaps.gap.count(),
                 .growth = gaps.growth.count(),
                 .count = gaps.count,
                 .repeat = gaps.requests});
  } else {
    runs_.add(gaps.gap.count(), gaps.growth.count(), gaps.count, gaps.requests);
  }
}

const core::Moments& GapSamples::moments() const {
  return percentiles_ == Percentiles::kSketch ? sketch_.moments() : runs_.moments();
}

std::optional<Distribution> GapSamples::distribution_ms() const {
  if (moments().count() == 0) {
    return std::nullopt;
  }
  return percentiles_ == Percentiles::kSketch
             ? describe(sketch_)
             : describe(runs_.moments(), runs_.quantiles(probabilities()));
}

}  // namespace ridgeline::metrics
