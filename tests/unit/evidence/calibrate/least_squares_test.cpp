#include "evidence/calibrate/least_squares.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::evidence::calibrate {
namespace {

TEST(LeastSquares, SolvesWhatIsExactlySolvable) {
  // 2 a + b = 5 and a - b = 1 have a = 2, b = 1; residual = -right side at a = b = 0.
  const Rows jacobian = {{2.0, 1.0}, {1.0, -1.0}};
  const auto step = solve_step(
      {.jacobian = jacobian, .residuals = {-5.0, -1.0}, .weights = {1.0, 1.0}, .damping = 0.0});
  ASSERT_TRUE(step.has_value());
  EXPECT_NEAR((*step)[0], 2.0, 1e-12);
  EXPECT_NEAR((*step)[1], 1.0, 1e-12);
}

TEST(LeastSquares, AWeightedMeanIsTheFitOfAConstant) {
  // Measurements 1, 4 and 10 with weights 1, 1 and 2: (1 + 4 + 20) / 4.
  const Rows jacobian = {{1.0}, {1.0}, {1.0}};
  const auto step = solve_step({.jacobian = jacobian,
                                .residuals = {-1.0, -4.0, -10.0},
                                .weights = {1.0, 1.0, 2.0},
                                .damping = 0.0});
  EXPECT_NEAR(step.value()[0], 6.25, 1e-12);
}

TEST(LeastSquares, TheCovarianceOfAMeanIsItsVariance) {
  const auto of_mean = covariance({{1.0}, {1.0}, {2.0}}, {1.0, 1.0, 4.0});
  EXPECT_NEAR(of_mean.value()[0][0], 1.0 / 18.0, 1e-12);
  EXPECT_FALSE(covariance({{1.0, 2.0}, {2.0, 4.0}}, {1.0, 1.0}).has_value());
}

TEST(LeastSquares, SaysWhenNothingIsDetermined) {
  const Rows twice = {{1.0, 2.0}, {2.0, 4.0}};
  EXPECT_FALSE(
      solve_step({.jacobian = twice, .residuals = {1, 1}, .weights = {1, 1}, .damping = 0.0})
          .has_value());
  EXPECT_NEAR(own_share(twice, 0), 0.0, 1e-6);
  const Rows right_angles = {{1.0, 0.0}, {0.0, 3.0}};
  EXPECT_NEAR(own_share(right_angles, 1), 1.0, 1e-12);
  const Rows silent = {{1.0, 0.0}, {1.0, 0.0}};
  EXPECT_EQ(own_share(silent, 1), 0.0);
  EXPECT_EQ(own_share({{2.0}, {1.0}}, 0), 1.0);  // alone
}

TEST(LeastSquares, AnotherThatTellsNothingTakesNothing) {
  // A column of zeros beside it, and two that are multiples of each other at 45 degrees to it:
  // half of its square remains.
  const Rows silent = {{1.0, 0.0}, {2.0, 0.0}};
  EXPECT_NEAR(own_share(silent, 0), 1.0, 1e-12);
  const Rows twins = {{1.0, 1.0, 2.0}, {0.0, 1.0, 2.0}};
  EXPECT_NEAR(own_share(twins, 0), 0.70710678, 1e-8);
  EXPECT_NEAR(own_share(twins, 1), 0.0, 1e-9);
}

}  // namespace
}  // namespace ridgeline::evidence::calibrate
