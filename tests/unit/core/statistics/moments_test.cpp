#include "core/statistics/moments.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "core/int128.hpp"

namespace ridgeline::statistics {
namespace {

constexpr auto kLeastInt = std::numeric_limits<std::int64_t>::min();
constexpr auto kGreatestInt = std::numeric_limits<std::int64_t>::max();

TEST(Moments, OfARun) {
  // 5, 8, 11, 14, each twice: n = 8, sum 76, squares 2 (25 + 64 + 121 + 196) = 812; mean 9.5,
  // variance 812/8 - 90.25 = 11.25.
  Moments moments;
  moments.add({.first = 5, .growth = 3, .count = 4, .repeat = 2});
  EXPECT_EQ(moments.count(), 8);
  EXPECT_EQ(moments.sum(), core::Int128{76});
  EXPECT_EQ(moments.sum_of_squares(), core::Uint128{812});
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

// 100,000 values of 0 and as many of 520,000 s, 5.2e17 ps: half the distance is the spread, as for
// the latencies of a run overloaded for days. The squares around the mean sum to 2e5 (2.6e17)^2
// = 1.35e40, more than 2^128 = 3.4e38.
TEST(Moments, SpreadOfAsMuchAsSimulatedTimeHolds) {
  constexpr std::int64_t kFar = 520'000'000'000'000'000;
  Moments at_once;
  at_once.add({.first = 0, .repeat = 100'000});
  at_once.add({.first = kFar, .repeat = 100'000});
  EXPECT_DOUBLE_EQ(at_once.std_dev(), 2.6e17);
  Moments one_by_one;
  std::vector<std::int64_t> values;
  for (int i = 0; i < 100'000; ++i) {
    one_by_one.add(0);
    values.push_back(kFar);
  }
  one_by_one.add(values);
  EXPECT_DOUBLE_EQ(one_by_one.std_dev(), 2.6e17);
  Moments merged = at_once;
  merged.merge(one_by_one);
  EXPECT_DOUBLE_EQ(merged.std_dev(), 2.6e17);
}

// 0, g, ..., (n-1) g: variance g^2 (n^2 - 1) / 12. With n = 2^32 - 1 and g = 2^30, 2^32 - 1 times,
// the squares sum to about 2^186; and the least and the greatest value of all, whose spread is
// 2^63.
TEST(Moments, SpreadOfLongRuns) {
  constexpr std::int64_t kMost = 4'294'967'295;
  Moments moments;
  moments.add({.first = 0, .growth = 1 << 30, .count = kMost, .repeat = 2'147'483'648});
  const auto n = static_cast<double>(kMost);
  EXPECT_DOUBLE_EQ(moments.std_dev(), 0x1p30 * std::sqrt((n * n - 1) / 12));
  Moments ends;
  ends.add({.first = kLeastInt, .repeat = kMost});
  ends.add({.first = kGreatestInt, .repeat = kMost});
  EXPECT_DOUBLE_EQ(ends.std_dev(), 0x1p63);
}

TEST(Moments, LongRunsAreExact) {
  // 0 .. n-1 with n = 2^32 - 1: sum n(n-1)/2, squares (n-1)n(2n-1)/6, here by another grouping.
  Moments moments;
  moments.add({.first = 0, .growth = 1, .count = 4'294'967'295, .repeat = 3});
  const core::Uint128 n = 4'294'967'295;
  EXPECT_EQ(moments.sum(), static_cast<core::Int128>(3 * (n * (n - 1) / 2)));
  EXPECT_EQ(moments.sum_of_squares(), 3 * (n * (n - 1) * (2 * n - 1) / 6));
  EXPECT_EQ(moments.max(), 4'294'967'294);
}

void expect_equal(const Moments& a, const Moments& b) {
  EXPECT_EQ(a.count(), b.count());
  EXPECT_EQ(a.min(), b.min());
  EXPECT_EQ(a.max(), b.max());
  EXPECT_EQ(a.sum(), b.sum());
  EXPECT_EQ(a.sum_of_squares(), b.sum_of_squares());
}

/// Runs for which sums of 64 bits do, and such for which they do not, near where that changes.
TEST(Moments, ARunIsItsValues) {
  constexpr std::int64_t kShort = std::int64_t{1} << 41;
  for (const std::int64_t count : {2, 3, 1000}) {
    for (const std::int64_t first : {std::int64_t{0}, kShort - 1, kShort, -kShort, kShort / 2}) {
      for (const std::int64_t growth :
           {std::int64_t{1}, -first / (count - 1), (kShort - 1 - first) / (count - 1)}) {
        Moments run;
        run.add({.first = first, .growth = growth, .count = count, .repeat = 3});
        Moments values;
        for (std::int64_t i = 0; i < 3 * count; ++i) {
          values.add(first + growth * (i / 3));
        }
        expect_equal(run, values);
      }
    }
  }
}

/// The longest run whose sums are taken in 64 bits, and one longer, in halves.
TEST(Moments, ALongRunIsItsHalves) {
  constexpr std::int64_t kFew = std::int64_t{1} << 20;
  for (const std::int64_t count : {kFew - 2, kFew, kFew + 2}) {
    for (const std::int64_t growth : {std::int64_t{2'000'000}, std::int64_t{-2'000'000}}) {
      const std::int64_t first = growth > 0 ? 0 : -growth * (count - 1);
      Moments whole;
      whole.add({.first = first, .growth = growth, .count = count, .repeat = 5});
      Moments halves;
      halves.add({.first = first, .growth = growth, .count = count / 2, .repeat = 5});
      halves.add({.first = first + growth * (count / 2),
                  .growth = growth,
                  .count = count / 2,
                  .repeat = 5});
      expect_equal(whole, halves);
    }
  }
}

TEST(Moments, ManyAtOnceAreOneByOne) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 56;
  const std::vector<std::vector<std::int64_t>> lists = {{3},
                                                        std::vector<std::int64_t>(128, kLarge - 1),
                                                        std::vector<std::int64_t>(129, kLarge - 1),
                                                        {kLarge - 1, kLarge, 0},
                                                        {-1, 5, 7},
                                                        {kLeastInt, kGreatestInt, 0}};
  for (const auto& list : lists) {
    Moments together;
    together.add(4);
    together.add(std::span(list));
    together.add(std::span<const std::int64_t>());
    Moments singly;
    singly.add(4);
    for (const std::int64_t value : list) {
      singly.add(value);
    }
    expect_equal(together, singly);
  }
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
  EXPECT_DEATH(moments.add({.first = kGreatestInt, .growth = 1, .count = 2}), "leaves the range");
  EXPECT_DEATH(moments.add({.first = kLeastInt, .growth = -1, .count = 2}), "leaves the range");
  EXPECT_DEATH(moments.add({.first = 0, .growth = kGreatestInt, .count = 3}), "leaves the range");
  EXPECT_DEATH(moments.add({.first = 5, .growth = kLeastInt, .count = 2}), "leaves the range");
}

TEST(MomentsDeathTest, NothingHasNoMean) {
  EXPECT_DEATH(static_cast<void>(Moments().mean()), "the mean of nothing");
  EXPECT_DEATH(static_cast<void>(Moments().std_dev()), "the spread of nothing");
  EXPECT_DEATH(static_cast<void>(Moments().min()), "the least of nothing");
  EXPECT_DEATH(static_cast<void>(Moments().max()), "the greatest of nothing");
}

}  // namespace
}  // namespace ridgeline::statistics
