#include "core/quantiles.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/int128.hpp"
#include "core/rng.hpp"

namespace ridgeline::core {
namespace {

constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
constexpr auto kMax = std::numeric_limits<std::int64_t>::max();

TEST(Quantiles, PositionIsNumpysLinear) {
  // (n - 1) p: 3 * 0.5 = 1.5, 10 * 0.9 = 9, 4 * 0.25 = 1.
  EXPECT_EQ(quantile_position(4, 0.5).index, 1);
  EXPECT_EQ(quantile_position(4, 0.5).fraction, 0.5);
  EXPECT_EQ(quantile_position(11, 0.9).index, 9);
  EXPECT_EQ(quantile_position(11, 0.9).fraction, 0.0);
  EXPECT_EQ(quantile_position(5, 0.25).index, 1);
  EXPECT_EQ(quantile_position(5, 0.0).index, 0);
  EXPECT_EQ(quantile_position(5, 1.0).index, 4);
  EXPECT_EQ(quantile_position(1, 0.7).index, 0);
  EXPECT_EQ(quantile_position(1, 0.7).fraction, 0.0);
}

TEST(Quantiles, OfAVector) {
  // Sorted: 1 2 3 4 10. p = 0.1 stands at 0.4: 1.4; p = 0.9 at 3.6: 4 + 0.6 * 6.
  std::vector<std::int64_t> values = {10, 3, 1, 4, 2};
  const std::array probabilities = {0.9, 0.5, 0.1, 1.0, 0.0, 0.5};
  const auto found = quantiles(values, probabilities);
  ASSERT_EQ(found.size(), probabilities.size());
  EXPECT_DOUBLE_EQ(found[0], 7.6);
  EXPECT_DOUBLE_EQ(found[1], 3.0);
  EXPECT_DOUBLE_EQ(found[2], 1.4);
  EXPECT_DOUBLE_EQ(found[3], 10.0);
  EXPECT_DOUBLE_EQ(found[4], 1.0);
  EXPECT_DOUBLE_EQ(found[5], 3.0);
}

TEST(Quantiles, DoNotOverflow) {
  std::vector<std::int64_t> values = {kMax, kMin};
  EXPECT_EQ(quantile(values, 0.5), 0.0);  // -2^63 + 2^64 / 2
  EXPECT_EQ(quantile(values, 0.25), -0x1p62);
}

TEST(QuantilesDeathTest, NothingHasNoQuantile) {
  std::vector<std::int64_t> none;
  EXPECT_DEATH(static_cast<void>(quantile(none, 0.5)), "a quantile of nothing");
  std::vector<std::int64_t> one = {1};
  EXPECT_DEATH(static_cast<void>(quantile(one, 1.01)), "probability of a quantile");
  EXPECT_DEATH(static_cast<void>(quantile(one, std::nan(""))), "probability of a quantile");
  EXPECT_DEATH(static_cast<void>(RunMultiset().quantile(0.5)), "a quantile of nothing");
  EXPECT_DEATH(static_cast<void>(Moments().mean()), "the mean of nothing");
  EXPECT_DEATH(static_cast<void>(Moments().std_dev()), "the spread of nothing");
  EXPECT_DEATH(static_cast<void>(Moments().min()), "the least of nothing");
  EXPECT_DEATH(static_cast<void>(Moments().max()), "the greatest of nothing");
}

TEST(Moments, OfARun) {
  // 5, 8, 11, 14, each twice: n = 8, sum 76, squares 2 (25 + 64 + 121 + 196) = 812; mean 9.5,
  // variance 812/8 - 90.25 = 11.25.
  Moments moments;
  moments.add({.first = 5, .growth = 3, .count = 4, .repeat = 2});
  EXPECT_EQ(moments.count(), 8);
  EXPECT_EQ(moments.sum(), Int128{76});
  EXPECT_EQ(moments.sum_of_squares(), Uint128{812});
  EXPECT_EQ(moments.min(), 5);
  EXPECT_EQ(moments.max(), 14);
  EXPECT_DOUBLE_EQ(moments.mean(), 9.5);
  EXPECT_DOUBLE_EQ(moments.std_dev(), std::sqrt(11.25));
  moments.add({.first = 5, .growth = 3, .count = 0, .repeat = 2});
  moments.add({.first = 5, .growth = 3, .count = 2, .repeat = 0});
  EXPECT_EQ(moments.count(), 8);
}

TEST(Moments, SpreadSurvivesAFarMean) {
  // 10^15 and 10^15 + 2: spread 1, which doubles of the squares (10^30, last place 1.4e14) could
  // not show.
  Moments moments;
  moments.add(1'000'000'000'000'000);
  moments.add(1'000'000'000'000'002);
  EXPECT_DOUBLE_EQ(moments.std_dev(), 1.0);
  // Three values whose mean is not whole: variance of {0, 0, 1} is 2/9.
  Moments thirds;
  thirds.add({.first = -7, .repeat = 2});
  thirds.add(-6);
  EXPECT_DOUBLE_EQ(thirds.std_dev(), std::sqrt(2.0 / 9.0));
}

TEST(Moments, LongRunsAreExact) {
  // 0 .. n-1 with n = 2^32 - 1: sum n(n-1)/2, squares (n-1)n(2n-1)/6, here by another grouping.
  Moments moments;
  moments.add({.first = 0, .growth = 1, .count = 4'294'967'295, .repeat = 3});
  const Uint128 n = 4'294'967'295;
  EXPECT_EQ(moments.sum(), static_cast<Int128>(3 * (n * (n - 1) / 2)));
  EXPECT_EQ(moments.sum_of_squares(), 3 * (n * (n - 1) * (2 * n - 1) / 6));
  EXPECT_EQ(moments.max(), 4'294'967'294);
}

TEST(MomentsDeathTest, HostileRunsAreBugs) {
  Moments moments;
  EXPECT_DEATH(moments.add({.count = 4'294'967'295, .repeat = 4'294'967'295}),
               "more than 2\\^63 values");
  Moments full;
  full.add({.count = 4'294'967'295, .repeat = 2'147'483'648});
  EXPECT_DEATH(full.add({.count = 4'294'967'295, .repeat = 2}), "more than 2\\^63 values");
  EXPECT_DEATH(full.merge(full), "more than 2\\^63 values");
  EXPECT_DEATH(moments.add({.first = 0, .growth = 1, .count = -1}), "count of an arithmetic run");
  EXPECT_DEATH(moments.add({.first = 0, .growth = 1, .count = 4'294'967'296}),
               "count of an arithmetic run");
  EXPECT_DEATH(moments.add({.first = 0, .repeat = -1}), "repeats of an arithmetic run");
  EXPECT_DEATH(moments.add({.first = kMax, .growth = 1, .count = 2}), "leaves the range");
  EXPECT_DEATH(moments.add({.first = kMin, .growth = -1, .count = 2}), "leaves the range");
  EXPECT_DEATH(moments.add({.first = 0, .growth = kMax, .count = 3}), "leaves the range");
  EXPECT_DEATH(moments.add({.first = 5, .growth = kMin, .count = 2}), "leaves the range");
}

TEST(RunMultiset, KeepsOneRunForOneSeries) {
  RunMultiset singly;
  for (std::int64_t i = 0; i < 1000; ++i) {
    singly.add(500 + 7 * i, 0, 1, 3);
  }
  EXPECT_EQ(singly.num_runs(), 1U);
  RunMultiset in_pieces;
  in_pieces.add(500, 7, 400, 3);
  in_pieces.add(500 + 7 * 400, 7, 600, 3);
  EXPECT_EQ(in_pieces.num_runs(), 1U);
  RunMultiset whole;
  whole.add(500, 7, 1000, 3);
  EXPECT_EQ(singly.fingerprint(), whole.fingerprint());
  EXPECT_EQ(in_pieces.fingerprint(), whole.fingerprint());
  EXPECT_EQ(singly.order_statistic(1500), 500 + 7 * 500);
}

TEST(RunMultiset, MergesEqualValues) {
  RunMultiset values;
  for (int i = 0; i < 1000; ++i) {
    values.add(42);
  }
  values.add(42, 0, 5, 7);
  EXPECT_EQ(values.num_runs(), 1U);
  EXPECT_EQ(values.count(), 1035);
  // Two runs where one repeat count would overflow.
  RunMultiset many;
  many.add(42, 0, 1, 4'294'967'295);
  many.add(42);
  many.add(7, 0, 4'294'967'295, 4'294'967'295 / 4);
  EXPECT_EQ(many.count(), 4'294'967'296 + 4'294'967'295 * (4'294'967'295 / 4));
  EXPECT_EQ(many.order_statistic(0), 7);
  EXPECT_EQ(many.order_statistic(many.count() - 1), 42);
  EXPECT_EQ(many.order_statistic(many.count() - 4'294'967'297), 7);
  EXPECT_EQ(many.order_statistic(many.count() - 4'294'967'296), 42);
}

TEST(RunMultiset, QuantilesOfInterleavedRuns) {
  // 0 2 4 6 8, each twice, and 9 6 3: sorted 0 0 2 2 3 4 4 6 6 6 8 8 9.
  RunMultiset values;
  values.add(0, 2, 5, 2);
  values.add(9, -3, 3, 1);
  const std::vector<std::int64_t> sorted = {0, 0, 2, 2, 3, 4, 4, 6, 6, 6, 8, 8, 9};
  ASSERT_EQ(values.count(), 13);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    EXPECT_EQ(values.order_statistic(static_cast<std::int64_t>(i)), sorted[i]) << i;
  }
  // p = 0.3 stands at 3.6, between 2 and 3; 0.5 at 6; 0.99 at 11.88, between 8 and 9.
  const auto found = values.quantiles(std::array{0.3, 0.5, 0.99, 1.0});
  EXPECT_DOUBLE_EQ(found[0], 2.6);
  EXPECT_DOUBLE_EQ(found[1], 4.0);
  EXPECT_DOUBLE_EQ(found[2], 8.88);
  EXPECT_DOUBLE_EQ(found[3], 9.0);
}

TEST(RunMultiset, HoldsTheWholeRange) {
  RunMultiset values;
  values.add(kMin);
  values.add(kMax);
  values.add(0);
  values.add(kMin + 1, 2, 4, 1);
  values.add(kMax, -(kMax / 3), 4, 1);
  EXPECT_EQ(values.order_statistic(0), kMin);
  EXPECT_EQ(values.order_statistic(1), kMin + 1);
  EXPECT_EQ(values.order_statistic(values.count() - 1), kMax);
  EXPECT_EQ(values.quantile(0.0), -0x1p63);
}

// A spike, an outlier that makes nearly everything fall into one bucket, and a broad base.
TEST(RunMultiset, SkewedValues) {
  RunMultiset runs;
  std::vector<std::int64_t> values;
  RngStream rng(9, 0, "skewed");
  const auto add =
      [&](std::int64_t first, std::int64_t growth, std::int64_t count, std::int64_t repeat) {
        runs.add(first, growth, count, repeat);
        for (std::int64_t i = 0; i < count; ++i) {
          values.insert(values.end(), static_cast<std::size_t>(repeat), first + growth * i);
        }
      };
  for (int i = 0; i < 20'000; ++i) {
    add(static_cast<std::int64_t>(10'000 + rng.below(1000)),
        static_cast<std::int64_t>(rng.below(5)),
        static_cast<std::int64_t>(1 + rng.below(10)),
        static_cast<std::int64_t>(1 + rng.below(20)));
  }
  add(10'500, 0, 1, 900'000);
  add(4'000'000'000'000'000'000, 0, 1, 1);
  const std::vector<double> probabilities = {0.0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999999, 1.0};
  EXPECT_EQ(runs.quantiles(probabilities), quantiles(values, probabilities));
}

TEST(RunMultisetDeathTest, IndexOutOfRangeIsABug) {
  RunMultiset values;
  values.add(1);
  EXPECT_DEATH(static_cast<void>(values.order_statistic(1)), "index of an order statistic");
  EXPECT_DEATH(static_cast<void>(values.order_statistic(-1)), "index of an order statistic");
}

}  // namespace
}  // namespace ridgeline::core
