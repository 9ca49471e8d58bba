#include "plan/linear_doubt.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/distributions.hpp"
#include "plan/doubt.hpp"

namespace ridgeline::plan {
namespace {

TEST(LinearDoubt, ProbabilityInvertsTheQuantile) {
  for (const double p : {1e-9, 0.001, 0.1, 0.5, 0.9, 0.999}) {
    EXPECT_NEAR(normal_probability(core::normal_quantile(p)), p, 1e-15 + p * 1e-12);
  }
  EXPECT_NEAR(normal_probability(1.0), 0.8413447460685429, 1e-14);
  EXPECT_EQ(normal_probability(-std::numeric_limits<double>::infinity()), 0.0);
  EXPECT_EQ(normal_probability(std::numeric_limits<double>::infinity()), 1.0);
}

TEST(LinearDoubt, VariancesOfFactorsAndRunsAddUp) {
  const Row row = {.capacity_rps = std::exp(1.0), .sampling_sd = 0.02, .elasticity = {2.0, -0.5}};
  const LogCapacity capacity = log_capacity(row, {{.sd = 0.03}, {.sd = 0.1}});
  EXPECT_NEAR(capacity.mean, 1.0, 1e-15);
  EXPECT_NEAR(capacity.sd, std::sqrt(0.0004 + 0.0036 + 0.0025), 1e-15);
}

TEST(LinearDoubt, ACapacityThatIsTheRateSuffices) {
  EXPECT_EQ(replicas_needed(std::log(0.1), std::log(0.3)), 3);
  EXPECT_EQ(replicas_needed(std::log(0.0999), std::log(0.3)), 4);
}

TEST(LinearDoubt, ReplicasThatAreAddedCountAsOftenAsTheyAreNeeded) {
  // Two are planned, 30 requests per second; 15 +- 20 % of each.
  const LogCapacity capacity{.mean = std::log(15.0), .sd = 0.2};
  const double log_rate = std::log(30.0);
  double expected = 2.0;
  for (int n = 2; n < 100; ++n) {
    expected += normal_probability((log_rate - std::log(n) - capacity.mean) / capacity.sd);
  }
  EXPECT_NEAR(expected_replicas(capacity, log_rate, 2), expected, 1e-6);
  EXPECT_EQ(expected_replicas({.mean = std::log(15.0), .sd = 0.0}, log_rate, 2), 2.0);
  EXPECT_EQ(expected_replicas({.mean = std::log(10.0), .sd = 0.0}, log_rate, 2), 3.0);
  // For a capacity that is known within a factor of e^50, the count ends all the same.
  EXPECT_LT(expected_replicas({.mean = 0.0, .sd = 50.0}, log_rate, 2), 1e13);
  // For many replicas, those beyond the plan cost what the lognormal's upper part does.
  const double rate = 30'000.0;
  const double above =
      rate / 15.0 * std::exp(0.02) * normal_probability(0.2) - 2'000.0 * normal_probability(0.0);
  EXPECT_NEAR(expected_replicas(capacity, std::log(rate), 2'000), 2'000.0 + above, 0.6);
}

TEST(LinearDoubt, DrawsHaveTheVarianceStated) {
  const DoubtInput input = {
      .rate = 1.0,
      .factors = {{.sd = 0.1}, {.sd = 0.2}},
      .rows = {{.capacity_rps = 3.0, .sampling_sd = 0.05, .elasticity = {1.0, -1.0}}}};
  const Truths truths = draw_truths(input, kDoubtDraws);
  double sum = 0.0;
  double squares = 0.0;
  for (const double each : truths.log_capacity[0]) {
    sum += each;
    squares += each * each;
  }
  const auto n = static_cast<double>(kDoubtDraws);
  const double mean = sum / n;
  const double sd = std::sqrt(squares / n - mean * mean);
  const double expected = log_capacity(input.rows[0], input.factors).sd;
  EXPECT_NEAR(mean, std::log(3.0), 4.0 * expected / std::sqrt(n));
  EXPECT_NEAR(sd, expected, 4.0 * expected / std::sqrt(2.0 * n));
}

}  // namespace
}  // namespace ridgeline::plan
