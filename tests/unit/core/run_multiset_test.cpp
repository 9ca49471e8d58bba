#include "core/run_multiset.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/int128.hpp"
#include "core/quantiles.hpp"
#include "core/rng.hpp"

namespace ridgeline::core {
namespace {

constexpr auto kLowest = std::numeric_limits<std::int64_t>::min();
constexpr auto kHighest = std::numeric_limits<std::int64_t>::max();

/// Two values far apart are no beginning of a series: a third would seldom continue it.
TEST(RunMultiset, FarValuesAreRunsOfTheirOwn) {
  constexpr std::int64_t kFar = 10'000'000'000;
  RunMultiset set;
  set.add(1'000, 0, 1, 3);
  set.add(1'000 + kFar, 0, 1, 3);
  set.add(1'000 + 2 * kFar, 0, 1, 3);
  EXPECT_EQ(set.num_runs(), 3U);
  EXPECT_EQ(set.count(), 9);
  EXPECT_EQ(set.order_statistic(4), 1'000 + kFar);
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
  EXPECT_EQ(values.num_runs(), 1U);
  EXPECT_EQ(values.count(), 1000);
  EXPECT_EQ(values.order_statistic(999), 42);
}

TEST(RunMultiset, CountsAndRepeatsAsLargeAsTheyMayBe) {
  RunMultiset many;
  many.add(42, 0, 1, 4'294'967'295);
  many.add(42);
  many.add(7, 0, 4'294'967'295, 4'294'967'295 / 4);
  many.add(5, 3, 0, 2);
  many.add(5, 3, 2, 0);
  EXPECT_EQ(many.count(), 4'294'967'296 + 4'294'967'295 * (4'294'967'295 / 4));
  EXPECT_EQ(many.order_statistic(0), 7);
  EXPECT_EQ(many.order_statistic(many.count() - 1), 42);
  EXPECT_EQ(many.order_statistic(many.count() - 4'294'967'297), 7);
  EXPECT_EQ(many.order_statistic(many.count() - 4'294'967'296), 42);
}

/// A series ends where its runs would be too long to be short ones (2^20 values), and goes on.
TEST(RunMultiset, ALongSeriesIsRunsOfAMillion) {
  constexpr std::int64_t kValues = 3 * (std::int64_t{1} << 20);
  RunMultiset values;
  for (std::int64_t i = 0; i < kValues; ++i) {
    values.add(1'000 + 3 * i);
  }
  EXPECT_EQ(values.num_runs(), 3U);
  EXPECT_EQ(values.order_statistic(kValues - 1), 1'000 + 3 * (kValues - 1));
  EXPECT_EQ(values.order_statistic(kValues / 2), 1'000 + 3 * (kValues / 2));
}

/// The same three runs a thousand times over, among a few that come once.
TEST(RunMultiset, KeepsOnceWhatComesAgain) {
  RunMultiset values;
  Int128 sum = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    values.add(9'000'000'000, 1'000, 3, 1);
    values.add(7'000'000'000, 2'000, 4, 2);
    values.add(8'000'000'000, 0, 1, 5);
    sum += 3 * Int128{9'000'001'000} + 8 * Int128{7'000'003'000} + 5 * Int128{8'000'000'000};
    if (i % 100 == 0) {
      values.add(10'000'000'000 + i, 7, 2, 1);
      sum += 2 * Int128{10'000'000'000 + i} + 7;
    }
  }
  EXPECT_EQ(values.count(), 16'020);
  EXPECT_TRUE(values.moments().sum() == sum);
  EXPECT_LT(values.num_runs(), 150U);
  EXPECT_EQ(values.order_statistic(0), 7'000'000'000);
  EXPECT_EQ(values.order_statistic(7'999), 7'000'006'000);
  EXPECT_EQ(values.order_statistic(8'000), 8'000'000'000);
  EXPECT_EQ(values.order_statistic(13'000), 9'000'000'000);
  EXPECT_EQ(values.order_statistic(16'019), 10'000'000'907);
}

/// A run that reaches the ends of the range wraps around to a value near its first: that is none
/// that follows.
TEST(RunMultiset, NothingFollowsByWrappingAround) {
  RunMultiset values;
  values.add(5, kLowest + 1, 2, 1);
  values.add(7);
  EXPECT_EQ(values.count(), 3);
  EXPECT_EQ(values.order_statistic(0), kLowest + 6);
  EXPECT_EQ(values.order_statistic(1), 5);
  EXPECT_EQ(values.order_statistic(2), 7);
}

/// One long run among many short ones: their block is summed up run by run.
TEST(RunMultiset, ALongRunAmongShortOnes) {
  RunMultiset values;
  Int128 sum = 0;
  for (std::int64_t i = 0; i < 200; ++i) {
    const std::int64_t first = i == 100 ? kHighest / 2 : 10'000'000'000 * (i % 3);
    values.add(first, 5, 4, 2);
    sum += Int128{first} * 8 + 5 * (0 + 1 + 2 + 3) * 2;
  }
  EXPECT_EQ(values.count(), 1600);
  EXPECT_TRUE(values.moments().sum() == sum);
  EXPECT_EQ(values.order_statistic(1599), kHighest / 2 + 15);
  EXPECT_EQ(values.order_statistic(0), 0);
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
  values.add(kLowest);
  values.add(kHighest);
  values.add(0);
  values.add(kLowest + 1, 2, 4, 1);
  values.add(kHighest, -(kHighest / 3), 4, 1);
  EXPECT_EQ(values.order_statistic(0), kLowest);
  EXPECT_EQ(values.order_statistic(1), kLowest + 1);
  EXPECT_EQ(values.order_statistic(values.count() - 1), kHighest);
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

TEST(RunMultiset, FindsWhatItsSampleMissed) {
  // Of every two values the sample keeps the second, once it is full: it never sees a small one.
  // The p = 0.25 of 20,000 stands at 4999.75, among the small ones 0, 1, ..., 9999.
  RunMultiset values;
  for (std::int64_t i = 0; i < 10'000; ++i) {
    values.add(i);
    values.add(1'000'000 + i * i % 977);
  }
  EXPECT_DOUBLE_EQ(values.quantile(0.25), 4999.75);
}

TEST(RunMultisetDeathTest, TakesNoRunThatLeavesTheRange) {
  RunMultiset values;
  EXPECT_DEATH(values.add(kHighest, 1, 2, 1), "leaves the range of int64");
  EXPECT_DEATH(values.add(1, 1, -1, 1), "count of an arithmetic run");
  EXPECT_DEATH(values.add(1, 1, 1, -1), "repeats of an arithmetic run");
}

TEST(RunMultisetDeathTest, IndexOutOfRangeIsABug) {
  RunMultiset values;
  values.add(1);
  EXPECT_DEATH(static_cast<void>(values.order_statistic(1)), "index of an order statistic");
  EXPECT_DEATH(static_cast<void>(values.order_statistic(-1)), "index of an order statistic");
}

TEST(RunMultisetDeathTest, NothingHasNoQuantile) {
  EXPECT_DEATH(static_cast<void>(RunMultiset().quantile(0.5)), "a quantile of nothing");
}

}  // namespace
}  // namespace ridgeline::core
