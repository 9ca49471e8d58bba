#include "core/quantile_search.hpp"

#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "support/searched_quantiles.hpp"

namespace ridgeline::core {
namespace {

constexpr std::array kMedianAndLast = {0.5, 1.0};

std::vector<double> searched(const std::vector<std::int64_t>& values) {
  return test::searched_quantiles(values, kMedianAndLast);
}

TEST(QuantileSearch, OneValue) {
  EXPECT_EQ(searched({42}), (std::vector{42.0, 42.0}));
}

TEST(QuantileSearch, LiesBetweenTwo) {
  EXPECT_EQ(searched({30, 10}), (std::vector{20.0, 30.0}));
}

/// One far away makes all others fall into few buckets, as many of them equal.
TEST(QuantileSearch, AFarValueAndManyEqualOnes) {
  std::vector<std::int64_t> values(9999, 1'000'000'000'000);
  values.front() = 1;
  values[5000] = 3'000'000'000'000'000'000;
  EXPECT_EQ(searched(values), (std::vector{1e12, 3e18}));
}

/// Of every second value the sample sees the small ones only: all quantiles are elsewhere.
TEST(QuantileSearch, FindsWhatItsSampleMissed) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < 3000; ++i) {
    values.push_back(i % 2 == 0 ? 1 : 1'000'000 + i);
  }
  // The upper half is 1,000,001, 1,000,003, ...: number 1,500 of 3,000 is its first, the last its
  // last.
  EXPECT_EQ(test::searched_quantiles(values, std::array{0.75, 1.0}, 2),
            (std::vector{1'000'000 + 1.0 + 2 * 749.25, 1'002'999.0}));
}

TEST(QuantileSearch, MapsWhatItFinds) {
  const std::vector<std::int64_t> values = {10, 30, 20};
  QuantileSearch search(3, 10, 30, kMedianAndLast);
  search.sample(values);
  search.choose();
  search.take(values);
  ASSERT_TRUE(search.found());
  EXPECT_EQ(search.quantiles([](std::int64_t value) { return value / 10 + 5; }),
            (std::vector{7.0, 8.0}));
}

TEST(QuantileSearchDeathTest, TakesNoNegativeValue) {
  EXPECT_DEATH(QuantileSearch(1, -1, 3, kMedianAndLast), "a negative value");
}

}  // namespace
}  // namespace ridgeline::core
