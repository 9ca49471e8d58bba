#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "latency/fit/least_squares.hpp"

namespace ridgeline::latency::fit {
namespace {

/// Whole numbers scaled, so that cases shrink well.
double drawn_number(int lowest, int highest, double unit) {
  return static_cast<double>(*rc::gen::inRange(lowest, highest)) * unit;
}

RC_GTEST_PROP(LeastSquares, FindsAnyParabolaWithinItsBounds, ()) {
  std::array<double, 3> truth = {};
  std::array<Unknown, 3> unknowns = {};
  for (std::size_t i = 0; i < truth.size(); ++i) {
    truth[i] = drawn_number(-50, 50, 0.1);
    unknowns[i] = {.lowest = -6.0, .highest = 6.0, .start = drawn_number(-60, 60, 0.1)};
  }
  const Residuals residuals = [&](std::span<const double> values, std::span<double> into) {
    for (std::size_t row = 0; row < into.size(); ++row) {
      const double x = 0.2 * static_cast<double>(row) - 1.0;
      into[row] = 0.0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        into[row] += (values[i] - truth[i]) * (i == 0 ? 1.0 : i == 1 ? x : x * x);
      }
    }
  };
  const FitResult result = least_squares(unknowns, 11, residuals, {.loss_scale = 1.0});
  for (std::size_t i = 0; i < truth.size(); ++i) {
    RC_ASSERT(std::abs(result.values[i] - truth[i]) < 0.01);
  }
}

RC_GTEST_PROP(LeastSquares, NeverLeavesItsBoundsAndNeverGetsWorse, ()) {
  const double target = drawn_number(-100, 100, 1.0);
  const double low = drawn_number(-20, 0, 1.0);
  const Unknown unknown{.lowest = low, .highest = low + drawn_number(0, 20, 1.0), .start = low};
  // Steps, as formulas of whole tiles have them.
  const Residuals residuals = [&](std::span<const double> values, std::span<double> into) {
    into[0] = std::ceil(values[0]) - target;
    into[1] = values[0] * values[0] - target;
  };
  const std::array<Unknown, 1> unknowns = {unknown};
  const FitResult result = least_squares(unknowns, 2, residuals);
  RC_ASSERT(result.values[0] >= unknown.lowest);
  RC_ASSERT(result.values[0] <= unknown.highest);
  const FitResult held = least_squares(unknowns, 2, residuals, {.iterations = 0});
  RC_ASSERT(result.cost <= held.cost);
}

}  // namespace
}  // namespace ridgeline::latency::fit
