#include "evidence/calibrate/uncertainty.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/math.hpp"
#include "core/statistics/student.hpp"
#include "evidence/calibrate/calibrate.hpp"
#include "evidence/calibrate/joint_fit.hpp"
#include "evidence/calibrate/least_squares.hpp"
#include "evidence/calibrate/observations.hpp"
#include "evidence/calibrate/parameters.hpp"
#include "evidence/validate/evidence.hpp"
#include "latency/accuracy/bands.hpp"

namespace ridgeline::evidence::calibrate {
namespace {

constexpr double kIntervalTail = 0.05;
/// Relative noise of a figure: another draw of the arrivals and the steps' own jumps change it so
/// much (docs/accuracy.md, "The data's own spread").
constexpr double kLeastNoise = 0.003;
constexpr double kUpperQuartile = 0.75;
/// A linear step from a fit may say less than nothing.
constexpr double kLeastResidual = -0.99;

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

}  // namespace

std::vector<FittedParameter> with_intervals(const FitEnd& end, bool is_final) {
  std::vector<Interval> intervals;
  if (is_final && end.observations.records().size() > 1) {
    intervals = joint_intervals(end.observations, end.constants);
  }
  std::vector<FittedParameter> all;
  for (std::size_t j = 0; j < end.constants.size(); ++j) {
    const auto& [parameter, before, value] = end.constants[j];
    FittedParameter fitted{.parameter = parameter, .before = before, .value = value};
    if (!intervals.empty()) {
      fitted.lowest = intervals[j].lowest;
      fitted.highest = intervals[j].highest;
    }
    fitted.at_bound = value <= parameter.lowest || value >= parameter.highest;
    all.push_back(std::move(fitted));
  }
  return all;
}

std::vector<double> held_out_residuals(const FitEnd& end, const Compared& compared) {
  std::vector<double> held_out = compared.residuals;
  const auto& fitted = end.observations.all();
  const auto& observations = compared.observations.all();
  for (std::size_t i = 0; i < observations.size(); ++i) {
    std::vector<double> weights(fitted.size(), 1.0);
    for (std::size_t k = 0; k < weights.size(); ++k) {
      weights[k] = fitted[k].record == observations[i].record ? 0.0 : 1.0;
    }
    const auto values = refit(end, weights);
    for (std::size_t j = 0; values && j < end.constants.size(); ++j) {
      const Constant& constant = end.constants[j];
      held_out[i] += compared.jacobian[i][j] * ((*values)[j] - constant.value) / constant.range();
    }
  }
  return held_out;
}

std::vector<accuracy::Band> bands_of(const Observations& observations,
                                     const std::vector<double>& residuals) {
  std::vector<accuracy::Band> bands;
  for (std::size_t m = 0; m < accuracy::kNumMetrics; ++m) {
    std::vector<double> logs;
    for (std::size_t i = 0; i < observations.size(); ++i) {
      const auto figure = static_cast<std::size_t>(observations.all()[i].figure);
      if (std::string_view(validate::kFigureNames[figure]) == accuracy::kMetricNames[m]) {
        logs.push_back(core::log(1.0 + std::max(residuals[i], kLeastResidual)));
      }
    }
    if (logs.size() < 2) {
      continue;
    }
    const double n = core::real(static_cast<std::int64_t>(logs.size()));
    const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / n;
    double squares = 0.0;
    for (const double log : logs) {
      squares += (log - mean) * (log - mean);
    }
    const double spread =
        std::max(kLeastNoise, std::sqrt(squares / (n - 1.0))) * std::sqrt(1.0 + 1.0 / n);
    const auto range = [&](double p) -> accuracy::Range {
      const double half =
          spread * statistics::student_quantile(p, static_cast<std::int64_t>(logs.size()) - 1);
      return {.low = 100.0 * (core::exp(mean - half) - 1.0),
              .high = 100.0 * (core::exp(mean + half) - 1.0)};
    };
    bands.push_back({.slice = accuracy::kOwnSlice,
                     .values = observations.server(),
                     .metric = static_cast<accuracy::Metric>(m),
                     .fitted = true,
                     .groups = 1,
                     .records = static_cast<std::int64_t>(logs.size()),
                     .p50 = range(kUpperQuartile),
                     .p90 = range(1.0 - kIntervalTail)});
  }
  return bands;
}

}  // namespace ridgeline::evidence::calibrate
