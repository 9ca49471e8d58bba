#include "core/quantile_search.hpp"

#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/moments.hpp"

namespace ridgeline::core {
namespace {

constexpr std::array kMedianAndLast = {0.5, 1.0};

std::vector<double> searched(const std::vector<std::int64_t>& values) {
  Moments moments;
  for (const std::int64_t value : values) {
    moments.add(value);
  }
  QuantileSearch search(moments, kMedianAndLast);
  for (const std::int64_t value : values) {
    search.count(value);
  }
  search.choose();
  for (const std::int64_t value : values) {
    search.keep(value);
  }
  return search.quantiles();
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
