#include "core/distributions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/math.hpp"
#include "core/result.hpp"
#include "core/rng.hpp"

namespace ridgeline::core {
namespace {

constexpr int kDraws = 1'000'000;
constexpr double kRootOfDraws = 1000.0;
// Fixed seeds make these tests deterministic; the bounds are those of a test at 0.1 % or stricter.
constexpr double kStandardErrors = 4.0;
constexpr double kKolmogorov = 1.95;  // 99.9 % of sup |F_n - F| sqrt(n).

using Draw = std::function<double(RngStream&)>;

std::vector<double> sample(const Draw& draw) {
  RngStream rng(2024, 0, "distributions");
  std::vector<double> values(kDraws);
  for (double& value : values) {
    value = draw(rng);
  }
  return values;
}

/// `kurtosis` is the fourth central moment over the squared variance.
void expect_moments(const std::vector<double>& values,
                    double mean,
                    double std_dev,
                    double kurtosis) {
  double sum = 0.0;
  for (const double value : values) {
    sum += value;
  }
  const double found_mean = sum / kDraws;
  double sum_squares = 0.0;
  for (const double value : values) {
    sum_squares += (value - mean) * (value - mean);
  }
  EXPECT_NEAR(found_mean, mean, kStandardErrors * std_dev / kRootOfDraws);
  const double variance = std_dev * std_dev;
  EXPECT_NEAR(sum_squares / kDraws,
              variance,
              kStandardErrors * variance * std::sqrt(kurtosis - 1.0) / kRootOfDraws);
}

void expect_distribution(std::vector<double> values,
                         const std::function<double(double)>& cumulative) {
  std::sort(values.begin(), values.end());
  double distance = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    const double expected = cumulative(values[static_cast<std::size_t>(i)]);
    distance = std::max({distance,
                         expected - static_cast<double>(i) / kDraws,
                         static_cast<double>(i + 1) / kDraws - expected});
  }
  EXPECT_LT(distance * kRootOfDraws, kKolmogorov);
}

/// Draws of small integers against their probabilities.
void expect_frequencies(const std::function<std::size_t(RngStream&)>& draw,
                        std::vector<double> weights) {
  double total = 0.0;
  for (const double weight : weights) {
    total += weight;
  }
  std::vector<int> counts(weights.size());
  RngStream rng(2024, 1, "frequencies");
  for (int i = 0; i < kDraws; ++i) {
    ++counts.at(draw(rng));
  }
  double chi_squared = 0.0;
  double freedom = -1.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double expected = weights[i] / total * kDraws;
    if (expected == 0.0) {
      EXPECT_EQ(counts[i], 0) << i;
      continue;
    }
    chi_squared += (counts[i] - expected) * (counts[i] - expected) / expected;
    freedom += 1.0;
  }
  // Chi squared has mean f and variance 2f; 6 standard deviations leave room for its skew.
  EXPECT_LT(chi_squared, freedom + 6.0 * std::sqrt(2.0 * freedom));
}

double normal_cumulative(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

TEST(Distributions, ManyExponentialsAtOnceAreTheSame) {
  RngStream together(1, 2, "gaps");
  RngStream singly(1, 2, "gaps");
  std::array<double, 5> variables{};
  exponential(together, 3.0, variables);
  for (const double variable : variables) {
    EXPECT_EQ(variable, exponential(singly, 3.0));
  }
  EXPECT_EQ(together.position(), singly.position());
}

TEST(Distributions, Exponential) {
  const auto values = sample([](RngStream& rng) { return exponential(rng, 2.0); });
  expect_moments(values, 2.0, 2.0, 9.0);
  expect_distribution(values, [](double x) { return -std::expm1(-x / 2.0); });
}

// Quantiles from tables of the normal distribution, to more digits from Python's
// statistics.NormalDist and, in the tails, from solving erfc(x / sqrt 2) / 2 = p with 40 digits.
TEST(Distributions, NormalQuantile) {
  EXPECT_EQ(normal_quantile(0.5), 0.0);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 4e-15);
  EXPECT_NEAR(normal_quantile(0.9), 1.2815515655446004, 3e-15);
  EXPECT_NEAR(normal_quantile(0.001), -3.090232306167814, 5e-15);
  EXPECT_NEAR(normal_quantile(1e-10), -6.361340902404056, 1e-14);
  EXPECT_NEAR(normal_quantile(1e-300), -37.0471, 1e-4);
  // Across the seams of the three approximations.
  for (double p = 1e-12; p < 0.5; p *= 1.07) {
    EXPECT_NEAR(normal_cumulative(normal_quantile(p)) / p, 1.0, 1e-13) << p;
  }
}

TEST(NormalCdf, InvertsTheQuantile) {
  // Tables: P(Z < 1.959963984540054) = 0.975.
  EXPECT_NEAR(normal_cdf(1.959963984540054), 0.975, 1e-9);
  EXPECT_NEAR(normal_cdf(0.0), 0.5, 1e-12);
}

TEST(Distributions, Normal) {
  const auto values = sample([](RngStream& rng) { return normal(rng, 3.0, 2.0); });
  expect_moments(values, 3.0, 2.0, 3.0);
  expect_distribution(values, [](double x) { return normal_cumulative((x - 3.0) / 2.0); });
}

TEST(Distributions, LogMoments) {
  // m = 1, s = sqrt(e - 1): log variance log(1 + e - 1) = 1, log mean 0 - 1/2.
  const LogMoments unit = log_moments_of(1.0, std::sqrt(std::exp(1.0) - 1.0));
  EXPECT_NEAR(unit.std_dev, 1.0, 1e-15);
  EXPECT_NEAR(unit.mean, -0.5, 1e-15);
  // A relative spread of 1e-9 is kept: sqrt(log(1 + 1e-18)) = 1e-9 to 18 digits.
  EXPECT_NEAR(log_moments_of(512.0, 512e-9).std_dev / 1e-9, 1.0, 1e-14);
  EXPECT_EQ(log_moments_of(512.0, 0.0).std_dev, 0.0);
}

TEST(Distributions, Lognormal) {
  const LogMoments moments = log_moments_of(512.0, 256.0);
  const auto values = sample([&](RngStream& rng) { return lognormal(rng, moments); });
  // With w = 1 + (256/512)^2 the kurtosis is w^4 + 2 w^3 + 3 w^2 - 3 = 8.035.
  expect_moments(values, 512.0, 256.0, 8.035);
  const double log_std = std::sqrt(std::log(1.25));
  const double log_mean = std::log(512.0) - 0.5 * std::log(1.25);
  expect_distribution(
      values, [&](double x) { return normal_cumulative((std::log(x) - log_mean) / log_std); });
}

TEST(Distributions, GammaOfHalfIsChiSquared) {
  // Shape 1/2, scale 2: the square of a standard normal, P(X < x) = erf(sqrt(x / 2)); kurtosis 3 +
  // 6/shape.
  const auto values = sample([](RngStream& rng) { return gamma(rng, 0.5, 2.0); });
  expect_moments(values, 1.0, std::sqrt(2.0), 15.0);
  expect_distribution(values, [](double x) { return std::erf(std::sqrt(x / 2.0)); });
}

TEST(Distributions, GammaOfThreeIsErlang) {
  const auto values = sample([](RngStream& rng) { return gamma(rng, 3.0, 0.5); });
  expect_moments(values, 1.5, std::sqrt(0.75), 5.0);
  expect_distribution(values, [](double x) {
    const double t = x / 0.5;
    return 1.0 - std::exp(-t) * (1.0 + t + t * t / 2.0);
  });
}

TEST(Distributions, GammaOfManyShapes) {
  for (const double shape : {0.05, 0.9, 1.0, 2.7, 400.0}) {
    SCOPED_TRACE(shape);
    expect_moments(sample([&](RngStream& rng) { return gamma(rng, shape, 1.0 / shape); }),
                   1.0,
                   1.0 / std::sqrt(shape),
                   3.0 + 6.0 / shape);
  }
}

TEST(Distributions, Weibull) {
  const auto values = sample([](RngStream& rng) { return weibull(rng, 1.5, 2.0); });
  expect_distribution(values, [](double x) { return -std::expm1(-std::pow(x / 2.0, 1.5)); });
  // Moment r is scale^r Gamma(1 + r/shape).
  const double mean = 2.0 * std::tgamma(1.0 + 1.0 / 1.5);
  const double variance = 4.0 * std::tgamma(1.0 + 2.0 / 1.5) - mean * mean;
  expect_moments(values, mean, std::sqrt(variance), 4.4);  // Kurtosis 4.39 at shape 1.5.
}

TEST(Distributions, UniformInteger) {
  expect_frequencies(
      [](RngStream& rng) { return static_cast<std::size_t>(uniform_integer(rng, -3, 4) + 3); },
      std::vector<double>(8, 1.0));
  RngStream rng(1, 0, "integers");
  EXPECT_EQ(uniform_integer(rng, 7, 7), 7);
  constexpr auto kLow = std::numeric_limits<std::int64_t>::min();
  constexpr auto kHigh = std::numeric_limits<std::int64_t>::max();
  int negative = 0;
  for (int i = 0; i < 1000; ++i) {
    negative += uniform_integer(rng, kLow, kHigh) < 0 ? 1 : 0;
    EXPECT_GE(uniform_integer(rng, kHigh - 1, kHigh), kHigh - 1);
  }
  EXPECT_NEAR(negative, 500, 64);  // Four standard deviations of sqrt(250).
}

TEST(AliasTable, FollowsTheWeights) {
  for (const std::vector<double>& weights : {std::vector<double>{1.0},
                                             {1.0, 1.0},
                                             {0.0, 1.0, 0.0, 3.0},
                                             {5.0, 1e-3, 2.5, 0.1, 0.1, 7.0, 0.0}}) {
    const auto table = AliasTable::make(weights);
    ASSERT_TRUE(table);
    EXPECT_EQ(table->size(), weights.size());
    if (weights.size() > 1) {
      expect_frequencies([&](RngStream& rng) { return table->draw(rng); }, weights);
    } else {
      RngStream rng(1, 0, "alias");
      EXPECT_EQ(table->draw(rng), 0U);
    }
  }
}

TEST(AliasTable, HoldsExtremeWeights) {
  constexpr double kHuge = std::numeric_limits<double>::max();
  const auto huge = AliasTable::make(std::vector<double>{kHuge, kHuge, 0.0});
  ASSERT_TRUE(huge);
  expect_frequencies([&](RngStream& rng) { return huge->draw(rng); }, {1.0, 1.0, 0.0});
  const auto tiny = AliasTable::make(std::vector<double>{5e-324, 0.0, 5e-324});
  ASSERT_TRUE(tiny);
  expect_frequencies([&](RngStream& rng) { return tiny->draw(rng); }, {1.0, 0.0, 1.0});
  // A thousand thirds do not add up in doubles; the zeros among them must still never come.
  std::vector<double> thirds(2000, 1.0 / 3.0);
  for (std::size_t i = 0; i < thirds.size(); i += 2) {
    thirds[i] = 0.0;
  }
  const auto table = AliasTable::make(thirds);
  ASSERT_TRUE(table);
  expect_frequencies([&](RngStream& rng) { return table->draw(rng); }, thirds);
}

TEST(AliasTable, RefusesBadWeights) {
  const auto message = [](const std::vector<double>& weights) {
    const auto table = AliasTable::make(weights);
    return table ? std::string("accepted") : table.error().at(0).message;
  };
  EXPECT_EQ(message({}), "0 weights, expected 1 to 4294967295");
  EXPECT_EQ(message({1.0, -0.5}), "weight 1 is -0.5, expected a finite number of at least 0");
  EXPECT_THAT(message({std::nan("")}), testing::HasSubstr("weight 0 is nan"));
  EXPECT_THAT(message({1.0, 2.0, std::numeric_limits<double>::infinity()}),
              testing::HasSubstr("weight 2 is inf"));
  EXPECT_EQ(message({0.0, 0.0}), "all weights are 0, expected one above 0");
}

TEST(Zipf, FollowsTheLaw) {
  for (const double s : {0.0, 0.5, 1.0 - 1e-9, 1.0, 1.0 + 1e-6, 1.5, 3.0}) {
    SCOPED_TRACE(s);
    constexpr int kRanks = 50;
    std::vector<double> weights;
    for (int k = 1; k <= kRanks; ++k) {
      weights.push_back(std::pow(k, -s));
    }
    const Zipf zipf(kRanks, s);
    expect_frequencies([&](RngStream& rng) { return static_cast<std::size_t>(zipf.draw(rng) - 1); },
                       weights);
  }
}

TEST(Zipf, HoldsExtremeParameters) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  for (const double s : {0.0, 0.99, 1.0, 2.0, 700.0, 1e300}) {
    SCOPED_TRACE(s);
    RngStream rng(5, 0, "zipf");
    const Zipf one(1, s);
    const Zipf many(kMost, s);
    for (int i = 0; i < 1000; ++i) {
      EXPECT_EQ(one.draw(rng), 1);
      const std::int64_t rank = many.draw(rng);
      EXPECT_GE(rank, 1);
      EXPECT_LE(rank, kMost);
      if (s >= 700.0) {
        EXPECT_EQ(rank, 1);  // 2^-700 is never seen.
      }
    }
    EXPECT_LT(rng.position(), 2200U);  // Fewer than 1.1 attempts each.
  }
}

TEST(DistributionsDeathTest, BadParametersAreBugs) {
  RngStream rng(1, 0, "bad");
  EXPECT_DEATH(static_cast<void>(exponential(rng, -1.0)), "mean of an exponential");
  EXPECT_DEATH(static_cast<void>(normal(rng, 0.0, std::nan(""))), "moments of a normal");
  EXPECT_DEATH(static_cast<void>(normal_quantile(1.0)), "probability");
  EXPECT_DEATH(static_cast<void>(log_moments_of(0.0, 1.0)), "moments of a lognormal");
  EXPECT_DEATH(static_cast<void>(gamma(rng, 0.0, 1.0)), "gamma");
  EXPECT_DEATH(static_cast<void>(weibull(rng, -1.0, 1.0)), "Weibull");
  EXPECT_DEATH(static_cast<void>(uniform_integer(rng, 1, 0)), "empty range");
  EXPECT_DEATH(Zipf(0, 1.0), "Zipf");
  EXPECT_DEATH(Zipf(10, -1.0), "Zipf");
}

}  // namespace
}  // namespace ridgeline::core
