#include "core/quantile_search.hpp"

#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/moments.hpp"
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

TEST(QuantileSearchDeathTest, TakesNoNegativeValue) {
  Moments moments;
  moments.add(-1);
  EXPECT_DEATH(QuantileSearch(moments, kMedianAndLast), "a negative value");
}

}  // namespace
}  // namespace ridgeline::core
