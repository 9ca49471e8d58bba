#include "latency/fit/least_squares.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/math.hpp"

namespace ridgeline::latency::fit {
namespace {

using testing::DoubleNear;

/// y = 2 + 3x at x = 0 .. 9.
void line_residuals(std::span<const double> values, std::span<double> residuals) {
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const auto x = static_cast<double>(i);
    residuals[i] = values[0] + values[1] * x - (2.0 + 3.0 * x);
  }
}

TEST(LeastSquares, FindsALine) {
  const std::array<Unknown, 2> unknowns = {{{-10, 10, 0}, {-10, 10, 0}}};
  const FitResult result = least_squares(unknowns, 10, line_residuals, {.loss_scale = 1.0});
  EXPECT_THAT(result.values[0], DoubleNear(2.0, 1e-3));
  EXPECT_THAT(result.values[1], DoubleNear(3.0, 1e-3));
}

TEST(LeastSquares, StopsAtABound) {
  // With the slope at most 2.5 the best constant is that of y - 2.5x, whose mean is
  // 2 + 0.5 * 4.5 = 4.25; the residuals are symmetric about it, so any symmetric loss agrees.
  const std::array<Unknown, 2> unknowns = {{{-10, 10, 0}, {0, 2.5, 1}}};
  const FitResult result = least_squares(unknowns, 10, line_residuals, {.loss_scale = 1.0});
  EXPECT_EQ(result.values[1], 2.5);
  EXPECT_THAT(result.values[0], DoubleNear(4.25, 1e-2));
}

TEST(LeastSquares, HoldsAnUnknownWithEqualBounds) {
  const std::array<Unknown, 2> unknowns = {{{1, 1, 1}, {0, 10, 1}}};
  const FitResult result = least_squares(unknowns, 10, line_residuals);
  EXPECT_EQ(result.values[0], 1.0);
}

TEST(LeastSquares, AnOutlierHardlyPulls) {
  // Ten values 1 and one 100: squares would give 10. Soft-L1 with scale 0.1 has its minimum where
  // 10 * z / sqrt(1 + z^2) = 1 for z = (c - 1) / 0.1: z = 0.1005, c = 1.01005.
  const Residuals residuals = [](std::span<const double> values, std::span<double> into) {
    for (std::size_t i = 0; i < into.size(); ++i) {
      into[i] = values[0] - (i == 0 ? 100.0 : 1.0);
    }
  };
  const std::array<Unknown, 1> unknowns = {{{0, 200, 5}}};
  const FitResult result = least_squares(unknowns, 11, residuals, {.loss_scale = 0.1});
  EXPECT_THAT(result.values[0], DoubleNear(1.01005, 1e-3));
}

TEST(LeastSquares, FindsACurve) {
  // y = 5 exp(-0.7 x), which is not linear in the rate.
  const Residuals residuals = [](std::span<const double> values, std::span<double> into) {
    for (std::size_t i = 0; i < into.size(); ++i) {
      const double x = 0.25 * static_cast<double>(i);
      into[i] = values[0] * core::exp(-values[1] * x) - 5.0 * core::exp(-0.7 * x);
    }
  };
  const std::array<Unknown, 2> unknowns = {{{0, 100, 1}, {0, 5, 3}}};
  const FitResult result = least_squares(unknowns, 20, residuals, {.loss_scale = 1.0});
  EXPECT_THAT(result.values[0], DoubleNear(5.0, 1e-2));
  EXPECT_THAT(result.values[1], DoubleNear(0.7, 1e-2));
}

TEST(LeastSquares, AnUnknownWithoutEffectStays) {
  const Residuals residuals = [](std::span<const double> values, std::span<double> into) {
    into[0] = into[1] = values[0] - 3.0;
  };
  const std::array<Unknown, 2> unknowns = {{{0, 10, 1}, {0, 10, 7}}};
  const FitResult result = least_squares(unknowns, 2, residuals, {.loss_scale = 1.0});
  EXPECT_THAT(result.values[0], DoubleNear(3.0, 1e-3));
  EXPECT_EQ(result.values[1], 7.0);
}

}  // namespace
}  // namespace ridgeline::latency::fit
