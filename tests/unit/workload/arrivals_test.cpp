#include "workload/arrivals.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "unit/workload/sample.hpp"
#include "workload/limits.hpp"
#include "workload/options.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::Each;

constexpr std::size_t kDraws = 200'000;
constexpr std::uint64_t kSeed = 7;

std::vector<std::int64_t> ticks(const Arrivals& arrivals,
                                std::size_t count,
                                std::uint64_t seed = kSeed,
                                std::uint64_t replication = 0) {
  ArrivalTimes times(arrivals, seed, replication);
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(times.next().value().count());
  }
  return out;
}

/// The gaps in seconds; the first is counted from time zero.
std::vector<double> gaps(const Arrivals& arrivals) {
  std::vector<double> out;
  std::int64_t last = 0;
  for (const std::int64_t time : ticks(arrivals, kDraws)) {
    EXPECT_GE(time, last);
    out.push_back(static_cast<double>(time - last) * 1e-12);
    last = time;
  }
  return out;
}

/// Mean m and squared coefficient of variation c of `sample`, against those of a gamma law of this
/// shape (1 is exponential). The standard error of the mean is m sqrt(c / n); that of the variance
/// is sigma^2 sqrt((kurtosis - 1) / n) with kurtosis 3 + 6 / shape.
void expect_gamma(const std::vector<double>& sample, double mean, double shape) {
  const auto n = static_cast<double>(sample.size());
  const Moments moments = moments_of(sample);
  const double variance = mean * mean / shape;
  EXPECT_NEAR(moments.mean, mean, kStandardErrors * std::sqrt(variance / n));
  EXPECT_NEAR(
      moments.variance, variance, kStandardErrors * variance * std::sqrt((2.0 + 6.0 / shape) / n));
}

/// The Kolmogorov-Smirnov distance of a sample from the exponential law of this mean, times
/// sqrt(n).
double distance_from_exponential(std::vector<double> sample, double mean) {
  std::sort(sample.begin(), sample.end());
  const auto n = static_cast<double>(sample.size());
  double distance = 0.0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double law = 1.0 - std::exp(-sample[i] / mean);
    distance = std::max({distance,
                         std::abs(law - static_cast<double>(i) / n),
                         std::abs(law - static_cast<double>(i + 1) / n)});
  }
  return distance * std::sqrt(n);
}

// Kolmogorov's law: P(distance > 2.3) = 2 exp(-2 x 2.3^2) = 5e-5.
constexpr double kLargestDistance = 2.3;

TEST(ArrivalTimes, PoissonGapsAreExponential) {
  const auto sample = gaps(PoissonArrivals{core::Rate(8.0)});
  expect_gamma(sample, 1.0 / 8.0, 1.0);
  EXPECT_LT(distance_from_exponential(sample, 1.0 / 8.0), kLargestDistance);
}

TEST(ArrivalTimes, PoissonGapsDoNotDependOnTheOneBefore) {
  const auto sample = gaps(PoissonArrivals{core::Rate(1.0)});
  const Moments moments = moments_of(sample);
  double product = 0.0;
  for (std::size_t i = 1; i < sample.size(); ++i) {
    product += (sample[i] - moments.mean) * (sample[i - 1] - moments.mean);
  }
  // The correlation of independent neighbours is normal around 0 with variance 1 / n.
  const auto n = static_cast<double>(sample.size() - 1);
  EXPECT_NEAR(product / n / moments.variance, 0.0, kStandardErrors / std::sqrt(n));
}

TEST(ArrivalTimes, GammaGapsHaveTheBurstinessOfTheirShape) {
  for (const double burstiness : {0.25, 0.5, 1.0, 4.0}) {
    SCOPED_TRACE(burstiness);
    expect_gamma(gaps(GammaArrivals{core::Rate(8.0), burstiness}), 1.0 / 8.0, burstiness);
  }
}

TEST(ArrivalTimes, BurstinessOneIsPoisson) {
  const auto sample = gaps(GammaArrivals{core::Rate(8.0), 1.0});
  EXPECT_LT(distance_from_exponential(sample, 1.0 / 8.0), kLargestDistance);
}

TEST(ArrivalTimes, OtherBurstinessIsNotPoisson) {
  const auto sample = gaps(GammaArrivals{core::Rate(8.0), 0.9});
  EXPECT_GT(distance_from_exponential(sample, 1.0 / 8.0), kLargestDistance);
}

TEST(ArrivalTimes, ConstantArrivalsDoNotDrift) {
  ArrivalTimes times(ConstantArrivals{core::Rate(3.0)}, kSeed, 0);
  EXPECT_EQ(times.next()->count(), 0);
  // 1/3 s and 2/3 s, rounded to the nearest picosecond.
  EXPECT_EQ(times.next()->count(), 333'333'333'333);
  EXPECT_EQ(times.next()->count(), 666'666'666'667);
  for (int i = 3; i < 300'000; ++i) {
    times.next();
  }
  // Request 300 000 at 3 per second; adding rounded gaps would be 100 000 ticks early.
  EXPECT_EQ(times.next()->count(), 100'000 * core::Duration::kTicksPerSecond);
}

TEST(ArrivalTimes, AllAtOnceIsTimeZero) {
  EXPECT_THAT(ticks(AllAtOnce{}, 1000), Each(0));
}

TEST(ArrivalTimes, EndAtTheRangeOfSimulatedTime) {
  // Mean gaps of 10^6 s: about nine fit.
  for (const Arrivals& arrivals : {Arrivals(PoissonArrivals{core::Rate(1e-6)}),
                                   Arrivals(ConstantArrivals{core::Rate(1e-6)}),
                                   Arrivals(GammaArrivals{core::Rate(1e-6), 0.001})}) {
    ArrivalTimes times(arrivals, kSeed, 0);
    int count = 0;
    for (auto time = times.next(); time; time = times.next()) {
      EXPECT_LE(time->since_start(), kLatestArrival);
      ASSERT_LT(++count, 100'000);
    }
    EXPECT_FALSE(times.next() == core::SimTime());
  }
}

TEST(ArrivalTimes, DependOnSeedAndReplicationOnly) {
  const Arrivals arrivals = PoissonArrivals{core::Rate(1.0)};
  const auto first = ticks(arrivals, 100);
  EXPECT_EQ(ticks(arrivals, 100), first);
  EXPECT_NE(ticks(arrivals, 100, kSeed + 1), first);
  EXPECT_NE(ticks(arrivals, 100, kSeed, 1), first);
}

TEST(ArrivalTimes, TwiceTheRateIsTheSameScheduleInHalfTheTime) {
  const auto slow = ticks(PoissonArrivals{core::Rate(1.0)}, 1000);
  const auto fast = ticks(PoissonArrivals{core::Rate(2.0)}, 1000);
  for (std::size_t i = 0; i < slow.size(); ++i) {
    // Each of the gaps before is rounded to a tick in both.
    EXPECT_NEAR(static_cast<double>(slow[i]),
                2.0 * static_cast<double>(fast[i]),
                1.5 * static_cast<double>(i + 1));
  }
}

}  // namespace
}  // namespace ridgeline::workload
