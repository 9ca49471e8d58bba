#include "workload/lengths.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/units.hpp"
#include "unit/workload/sample.hpp"
#include "workload/limits.hpp"
#include "workload/options.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::Each;

constexpr std::size_t kLengthDraws = 200'000;

std::vector<double> draws(const Length& length, std::string_view purpose = "input_len") {
  LengthSampler sampler(length, 11, 0, purpose);
  std::vector<double> sample;
  for (std::size_t i = 0; i < kLengthDraws; ++i) {
    sample.push_back(static_cast<double>(sampler.draw().value()));
  }
  return sample;
}

std::map<double, double> frequencies(const std::vector<double>& sample) {
  std::map<double, double> out;
  for (const double x : sample) {
    out[x] += 1.0 / static_cast<double>(sample.size());
  }
  return out;
}

void expect_mean(const std::vector<double>& sample, double mean, double std_dev) {
  EXPECT_NEAR(moments_of(sample).mean,
              mean,
              kStandardErrors * std_dev / std::sqrt(static_cast<double>(sample.size())));
}

void expect_frequency(double found, double probability) {
  EXPECT_NEAR(found, probability, kStandardErrors * frequency_error(probability, kLengthDraws));
}

TEST(LengthSampler, FixedIsFixed) {
  EXPECT_THAT(draws(FixedLength{core::Tokens(512)}), Each(512.0));
}

TEST(LengthSampler, UniformTakesEveryLengthEquallyOften) {
  const auto found = frequencies(draws(UniformLength{core::Tokens(3), core::Tokens(12)}));
  ASSERT_EQ(found.size(), 10U);
  EXPECT_EQ(found.begin()->first, 3.0);
  EXPECT_EQ(found.rbegin()->first, 12.0);
  for (const auto& [length, frequency] : found) {
    expect_frequency(frequency, 0.1);
  }
}

TEST(LengthSampler, UniformOfOneLengthIsFixed) {
  EXPECT_THAT(draws(UniformLength{core::Tokens(9), core::Tokens(9)}), Each(9.0));
}

TEST(LengthSampler, NormalHasItsMoments) {
  const auto sample = draws(NormalLength{1000.0, 100.0, core::Tokens(1), core::Tokens(10'000)});
  const auto n = static_cast<double>(kLengthDraws);
  expect_mean(sample, 1000.0, 100.0);
  // Rounding adds 1/12. The standard error of a normal sample's variance is sigma^2 sqrt(2 / n).
  EXPECT_NEAR(
      moments_of(sample).variance, 1e4 + 1.0 / 12.0, kStandardErrors * 1e4 * std::sqrt(2.0 / n));
}

TEST(LengthSampler, NormalOutsideItsLimitsIsMovedToTheNearerOne) {
  // Below -1 sigma and above +2 sigma: P = 0.158655 and 0.022750. Rounding moves the limits out by
  // half a token, of 1000 per sigma, which is less than the error.
  const auto found =
      frequencies(draws(NormalLength{5000.0, 1000.0, core::Tokens(4000), core::Tokens(7000)}));
  EXPECT_EQ(found.begin()->first, 4000.0);
  EXPECT_EQ(found.rbegin()->first, 7000.0);
  expect_frequency(found.at(4000.0), 0.158655);
  expect_frequency(found.at(7000.0), 0.022750);
}

TEST(LengthSampler, NormalWithoutSpreadIsRounded) {
  EXPECT_THAT(draws(NormalLength{10.5, 0.0}), Each(11.0));
  EXPECT_THAT(draws(NormalLength{10.4, 0.0}), Each(10.0));
}

TEST(LengthSampler, LognormalHasItsOwnMomentsNotThoseOfItsLogarithm) {
  const auto sample = draws(LognormalLength{800.0, 400.0});
  const auto n = static_cast<double>(kLengthDraws);
  expect_mean(sample, 800.0, 400.0);
  // With w = 1 + (s/m)^2 = 1.25, kurtosis = w^4 + 2 w^3 + 3 w^2 - 3 = 8.035; rounding adds 1/12.
  EXPECT_NEAR(moments_of(sample).variance,
              160'000.0 + 1.0 / 12.0,
              kStandardErrors * 160'000.0 * std::sqrt(7.035 / n));
  // Half lie below the median, m / sqrt(w) = 715.54.
  double below = 0.0;
  for (const double x : sample) {
    below += x <= 715.0 ? 1.0 / n : 0.0;
  }
  expect_frequency(below, 0.5);
}

TEST(LengthSampler, LognormalStaysWithinItsLimits) {
  const auto sample = draws(LognormalLength{800.0, 4000.0, core::Tokens(100), core::Tokens(2000)});
  for (const double x : sample) {
    EXPECT_GE(x, 100.0);
    EXPECT_LE(x, 2000.0);
  }
}

TEST(LengthSampler, TheWidestSpreadStaysWithinTheLimitOfARequest) {
  constexpr auto kMost = static_cast<double>(kMaxTokensPerRequest);
  for (const Length& length : {Length(NormalLength{1.0, kMost}),
                               Length(NormalLength{kMost, kMost}),
                               Length(LognormalLength{1.0, kMost}),
                               Length(LognormalLength{kMost, kMost})}) {
    for (const double x : draws(length)) {
      ASSERT_GE(x, 1.0);
      ASSERT_LE(x, kMost);
    }
  }
}

TEST(LengthSampler, EmpiricalFollowsItsWeights) {
  const auto found = frequencies(draws(EmpiricalLength{{{core::Tokens(100), 3.0},
                                                        {core::Tokens(7), 0.0},
                                                        {core::Tokens(20), 1.0},
                                                        {core::Tokens(3000), 6.0}}}));
  ASSERT_EQ(found.size(), 3U) << "a weight of zero is never drawn";
  expect_frequency(found.at(100.0), 0.3);
  expect_frequency(found.at(20.0), 0.1);
  expect_frequency(found.at(3000.0), 0.6);
}

TEST(LengthSampler, TheStreamBelongsToThePurpose) {
  const Length length = UniformLength{core::Tokens(1), core::Tokens(1'000'000)};
  EXPECT_EQ(draws(length, "input_len"), draws(length, "input_len"));
  EXPECT_NE(draws(length, "input_len"), draws(length, "output_len"));
}

}  // namespace
}  // namespace ridgeline::workload
