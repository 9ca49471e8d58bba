#include "metrics/order_search.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.hpp"
#include "core/statistics/moments.hpp"
#include "core/statistics/quantiles.hpp"
#include "unit/metrics/searched_quantiles.hpp"

namespace ridgeline::metrics {
namespace {

using statistics::ArithmeticRun;
using testing::expanded;
using testing::searched_quantiles;

constexpr auto kGreatestTick = std::numeric_limits<std::int64_t>::max();
constexpr std::array kUsual = {0.5, 0.9, 0.95, 0.99};

TEST(OrderSearch, OfOneValue) {
  const std::vector<std::int64_t> values = {7};
  EXPECT_EQ(searched_quantiles(values, kUsual), (std::vector<double>{7.0, 7.0, 7.0, 7.0}));
}

TEST(OrderSearch, QuantilesOfInterleavedRuns) {
  // 0 2 4 6 8, each twice, and 3 6 9: sorted 0 0 2 2 3 4 4 6 6 6 8 8 9.
  const std::vector<ArithmeticRun> runs = {
      {.first = 0, .growth = 2, .count = 5, .repeat = 2},
      {.first = 3, .growth = 3, .count = 3, .repeat = 1},
  };
  // p = 0.3 stands at 3.6, between 2 and 3; 0.5 at 6; 0.99 at 11.88, between 8 and 9.
  const auto found = searched_quantiles(runs, std::array{0.99, 0.3, 0.5, 1.0, 0.0});
  EXPECT_DOUBLE_EQ(found[0], 8.88);
  EXPECT_DOUBLE_EQ(found[1], 2.6);
  EXPECT_DOUBLE_EQ(found[2], 4.0);
  EXPECT_DOUBLE_EQ(found[3], 9.0);
  EXPECT_DOUBLE_EQ(found[4], 0.0);
}

TEST(OrderSearch, HoldsTheWholeRange) {
  std::vector<std::int64_t> values = {0, kGreatestTick, 1, kGreatestTick - 1};
  for (std::int64_t i = 4; i < 20'000; ++i) {
    values.push_back(kGreatestTick / i);
  }
  const std::vector<double> probabilities = {0.0, 1e-4, 0.5, 0.99995, 1.0};
  const auto found = searched_quantiles(values, probabilities);
  EXPECT_EQ(found, statistics::quantiles(values, probabilities));
  EXPECT_EQ(found.back(), 0x1p63);
}

/// Equal values are no more than one cell.
TEST(OrderSearch, AMillionEqualValues) {
  std::vector<std::int64_t> values(1'000'000, 42);
  int rounds = 0;
  EXPECT_EQ(searched_quantiles(values, kUsual, &rounds),
            (std::vector<double>{42.0, 42.0, 42.0, 42.0}));
  EXPECT_EQ(rounds, 1);
  values[3] = 43;
  EXPECT_EQ(searched_quantiles(values, kUsual), statistics::quantiles(values, kUsual));
}

/// Ranges of more values than are kept are counted in cells first: 20,000 values all over, each a
/// thousand times, of which a range about the median has 2 %.
TEST(OrderSearch, ManyValuesTakeTwoRounds) {
  core::RngStream rng(5, 0, "many");
  std::vector<ArithmeticRun> runs(20'000);
  for (ArithmeticRun& run : runs) {
    run = {.first = static_cast<std::int64_t>(rng.below(std::uint64_t{1} << 42)),
           .growth = 0,
           .count = 1,
           .repeat = 1000};
  }
  int rounds = 0;
  const auto found = searched_quantiles(runs, kUsual, &rounds);
  EXPECT_EQ(rounds, 2);
  std::ranges::sort(runs, {}, &ArithmeticRun::first);
  for (std::size_t i = 0; i < kUsual.size(); ++i) {
    const auto at = statistics::quantile_position(20'000'000, kUsual[i]);
    const auto value = [&](std::int64_t index) {
      return runs[static_cast<std::size_t>(index / 1000)].first;
    };
    EXPECT_EQ(found[i], statistics::interpolate(value(at.index), value(at.index + 1), at.fraction));
  }
}

/// The sample is every 20th value, and in one of the two orders never a small one. The p = 0.25 of
/// 20,480 stands at 5119.75, among the small ones 0, 1, ..., 10,239; that of 0.75 among the large
/// ones.
TEST(OrderSearch, FindsWhatItsSampleMissed) {
  std::vector<std::int64_t> low_first;
  std::vector<std::int64_t> high_first;
  for (std::int64_t i = 0; i < 10'240; ++i) {
    const std::int64_t large = 1'000'000 + i * i % 977;
    for (int k = 0; k < 2; ++k) {
      low_first.push_back(k == 0 ? i : large);
      high_first.push_back(k == 0 ? large : i);
    }
  }
  const std::vector<double> probabilities = {0.25, 0.4999, 0.5, 0.75};
  int rounds = 0;
  auto found = searched_quantiles(low_first, probabilities, &rounds);
  found = searched_quantiles(high_first, probabilities, &rounds);
  EXPECT_DOUBLE_EQ(found[0], 5119.75);
  EXPECT_EQ(found, statistics::quantiles(low_first, probabilities));
  EXPECT_GT(rounds, 2);
}

/// Runs that are too many values to be written out: 4 billion copies of 42 above as many values
/// of 7.
TEST(OrderSearch, CountsAndRepeatsAsLargeAsTheyMayBe) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const std::vector<ArithmeticRun> runs = {
      {.first = 42, .growth = 0, .count = 1, .repeat = kMost},
      {.first = 7, .growth = 0, .count = kMost, .repeat = 1},
      {.first = 8, .growth = 1, .count = 3, .repeat = 5},
  };
  EXPECT_EQ(searched_quantiles(runs, std::array{0.0, 0.49, 0.51, 1.0}),
            (std::vector<double>{7.0, 7.0, 42.0, 42.0}));
}

/// A spike, an outlier that makes nearly everything fall into one cell, and a broad base.
TEST(OrderSearch, SkewedRuns) {
  std::vector<ArithmeticRun> runs;
  core::RngStream rng(9, 0, "skewed");
  for (int i = 0; i < 20'000; ++i) {
    runs.push_back({.first = static_cast<std::int64_t>(10'000 + rng.below(1000)),
                    .growth = static_cast<std::int64_t>(rng.below(5)),
                    .count = static_cast<std::int64_t>(1 + rng.below(10)),
                    .repeat = static_cast<std::int64_t>(1 + rng.below(20))});
  }
  runs.push_back({.first = 10'500, .growth = 0, .count = 1, .repeat = 900'000});
  runs.push_back({.first = 4'000'000'000'000'000'000});
  const std::vector<double> probabilities = {0.0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999999, 1.0};
  auto values = expanded(runs);
  EXPECT_EQ(searched_quantiles(runs, probabilities), statistics::quantiles(values, probabilities));
}

TEST(OrderSearchDeathTest, NegativeValuesAreBugs) {
  const std::vector<std::int64_t> values = {1, -1, 0};
  EXPECT_DEATH(static_cast<void>(searched_quantiles(values, kUsual)), "negative values");
}

TEST(OrderSearchDeathTest, NothingHasNoQuantile) {
  EXPECT_DEATH(static_cast<void>(searched_quantiles(std::span<const std::int64_t>(), kUsual)),
               "of nothing");
}

}  // namespace
}  // namespace ridgeline::metrics
