#include "evidence/calibrate/uncertainty.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/rng.hpp"
#include "evidence/calibrate/calibrate.hpp"
#include "evidence/calibrate/least_squares.hpp"
#include "evidence/calibrate/observations.hpp"
#include "evidence/calibrate/parameters.hpp"
#include "evidence/validate/evidence.hpp"
#include "statistics/quantiles.hpp"

namespace ridgeline::evidence::calibrate {
namespace {

constexpr int kBootstrapSamples = 400;
constexpr double kIntervalTail = 0.05;
constexpr double kBandShare = 0.9;

/// The constants of a fit with other weights.
std::optional<std::vector<double>> refit(const FitEnd& end, const std::vector<double>& weights) {
  auto values =
      solve_step({.jacobian = end.jacobian, .residuals = end.residuals, .weights = weights});
  for (std::size_t j = 0; values && j < values->size(); ++j) {
    const Constant& constant = end.constants[j];
    (*values)[j] = constant.bounded(constant.value + (*values)[j] * constant.range());
  }
  return values;
}

/// Of each constant, the values that fits to as many observations drawn at random give.
std::vector<std::vector<double>> drawn_values(const FitEnd& end, std::uint64_t seed) {
  std::vector<std::vector<double>> draws(end.constants.size());
  core::RngStream rng(seed, 0, "calibration bootstrap");
  for (int sample = 0; sample < kBootstrapSamples; ++sample) {
    std::vector<double> weights(end.residuals.size(), 0.0);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[rng.below(weights.size())] += 1.0;
    }
    const auto values = refit(end, weights);
    for (std::size_t j = 0; values && j < draws.size(); ++j) {
      draws[j].push_back((*values)[j]);
    }
  }
  for (auto& draw : draws) {
    std::ranges::sort(draw);
  }
  return draws;
}

}  // namespace

std::vector<FittedParameter> with_intervals(const FitEnd& end, std::uint64_t seed) {
  std::vector<std::vector<double>> draws;
  if (end.observations.records().size() > 1) {
    draws = drawn_values(end, seed);
  }
  std::vector<FittedParameter> all;
  for (std::size_t j = 0; j < end.constants.size(); ++j) {
    const auto& [parameter, before, value] = end.constants[j];
    FittedParameter fitted{.parameter = parameter, .before = before, .value = value};
    if (!draws.empty()) {
      const bool drawn = !draws[j].empty();
      const double low =
          drawn ? statistics::sorted_quantile(draws[j], kIntervalTail) : parameter.lowest;
      const double high =
          drawn ? statistics::sorted_quantile(draws[j], 1.0 - kIntervalTail) : parameter.highest;
      fitted.lowest = std::min(low, value);
      fitted.highest = std::max(high, value);
    }
    fitted.at_bound = value <= parameter.lowest || value >= parameter.highest;
    all.push_back(std::move(fitted));
  }
  return all;
}

std::vector<double> held_out_residuals(const FitEnd& end) {
  std::vector<double> held_out = end.residuals;
  const auto& observations = end.observations.all();
  for (std::size_t i = 0; i < observations.size(); ++i) {
    std::vector<double> weights(observations.size(), 1.0);
    for (std::size_t k = 0; k < weights.size(); ++k) {
      weights[k] = observations[k].record == observations[i].record ? 0.0 : 1.0;
    }
    const auto values = refit(end, weights);
    for (std::size_t j = 0; values && j < end.constants.size(); ++j) {
      const Constant& constant = end.constants[j];
      held_out[i] += end.jacobian[i][j] * ((*values)[j] - constant.value) / constant.range();
    }
  }
  return held_out;
}

std::vector<Band> bands_of(const Observations& observations, const std::vector<double>& residuals) {
  std::vector<Band> bands;
  for (std::size_t f = 0; f < validate::kNumFigures; ++f) {
    std::vector<double> absolute;
    for (std::size_t i = 0; i < observations.size(); ++i) {
      if (observations.all()[i].figure == static_cast<validate::Figure>(f)) {
        absolute.push_back(100.0 * std::abs(residuals[i]));
      }
    }
    if (!absolute.empty()) {
      std::ranges::sort(absolute);
      bands.push_back({.figure = validate::kFigureNames[f],
                       .percent = statistics::sorted_quantile(absolute, kBandShare),
                       .n = static_cast<std::int64_t>(absolute.size())});
    }
  }
  return bands;
}

}  // namespace ridgeline::evidence::calibrate
