#include "core/statistics/queue_growth.hpp"

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "core/time.hpp"

namespace ridgeline::statistics {
namespace {

constexpr core::SimTime kFirst = core::SimTime::at(core::Duration::seconds(1000));

/// Verdict on requests, one each 100 ms from kFirst on, the i-th of which waits wait_ms(i).
template <class WaitMs>
std::optional<Backlog> verdict(WaitMs wait_ms,
                               std::int64_t requests = 1000,
                               std::optional<double> throughput = std::nullopt) {
  QueueGrowth queue;
  queue.start(kFirst);
  // Backwards: the order in which requests end does not matter.
  for (std::int64_t i = requests - 1; i >= 0; --i) {
    const core::SimTime arrival = kFirst + core::Duration::milliseconds(100 * i);
    queue.come(arrival);
    queue.leave(arrival + core::Duration::milliseconds(wait_ms(i)));
  }
  return queue.backlog(throughput);
}

TEST(CountsOverTime, AreSpreadEvenlyWithinAnInterval) {
  CountsOverTime counts;
  EXPECT_EQ(counts.before(1.0), 0.0);
  for (std::uint64_t i = 0; i <= 1'000'000; ++i) {
    counts.add(i * 1'000'000);
  }
  EXPECT_EQ(counts.total(), 1'000'001);
  EXPECT_EQ(counts.last(), 1'000'000'000'000U);
  EXPECT_EQ(counts.before(0.0), 0.0);
  EXPECT_NEAR(counts.before(5e11), 500'000.0, 2.0);
  EXPECT_NEAR(counts.before(9.999e11), 999'900.0, 2.0);
  EXPECT_EQ(counts.before(2e12), 1'000'001.0);
}

TEST(QueueGrowth, AQueueThatGrowsThroughoutIsABacklog) {
  // 50 ms more for each 100 ms: 10 requests a second, of which 10 / 1.5 leave the queue.
  const auto backlog = verdict([](std::int64_t i) { return 50 * i; });
  ASSERT_TRUE(backlog);
  EXPECT_TRUE(backlog->whole_run);
  EXPECT_NEAR(backlog->wait_growth, 0.5, 0.01);
  EXPECT_NEAR(backlog->offered_rate, 10.0, 0.1);
  // Less two standard deviations of 1 000.
  EXPECT_NEAR(backlog->sustainable_rate, 10.0 / 1.5 * (1.0 - 2.0 / 31.6), 0.1);
  const auto with_tail = verdict([](std::int64_t i) { return 50 * i; }, 1000, 4.0);
  ASSERT_TRUE(with_tail);
  EXPECT_NEAR(with_tail->sustainable_rate, 4.0 * (1.0 - 2.0 / 31.6), 0.1);
}

TEST(QueueGrowth, AThousandTimesTooMuchIsABacklogToo) {
  const auto backlog = verdict([](std::int64_t i) { return 100'000 * i; });
  ASSERT_TRUE(backlog);
  EXPECT_NEAR(backlog->wait_growth, 1000.0, 100.0);
}

TEST(QueueGrowth, AQueueThatDoesNotGrowIsNone) {
  EXPECT_FALSE(verdict([](std::int64_t) { return 0; }));
  EXPECT_FALSE(verdict([](std::int64_t i) { return 5000 + i % 7; }));
}

TEST(QueueGrowth, SomeThatWaitForTheEndMakeItGrow) {
  // Each second one waits until all the others are served: an adapter that has no place.
  const auto backlog = verdict([](std::int64_t i) { return i % 2 == 0 ? 0 : 100 * (1000 - i); });
  ASSERT_TRUE(backlog);
  EXPECT_NEAR(backlog->sustainable_rate, 5.0 * (1.0 - 2.0 / 31.6), 0.2);
}

TEST(QueueGrowth, ABurstThatTakesLongToWorkOffIsAStretch) {
  // From 20 to 40 s nothing leaves; until 80 s two do for each that comes, then as they come.
  const auto wait_ms = [](std::int64_t i) -> std::int64_t {
    if (i < 200 || i >= 600) {
      return 0;
    }
    return 20'000 - 50 * (i - 200);
  };
  const auto backlog = verdict(wait_ms);
  ASSERT_TRUE(backlog);
  EXPECT_FALSE(backlog->whole_run);
  EXPECT_NEAR(backlog->begin_s, 20.0, 2.0);
  EXPECT_NEAR(backlog->end_s, 40.0, 2.0);
  EXPECT_NEAR(backlog->offered_rate, 10.0, 0.5);
  EXPECT_LT(backlog->sustainable_rate, 1.0);
}

TEST(QueueGrowth, ABurstThatIsWorkedOffSoonIsNone) {
  // 200 that wait, for a hundredth of the run.
  EXPECT_FALSE(verdict([](std::int64_t i) { return i % 997 == 500 ? 10'000 : 0; }));
  QueueGrowth queue;
  queue.start(kFirst);
  for (std::int64_t i = 0; i < 1000; ++i) {
    const bool burst = i >= 400 && i < 600;
    const core::SimTime time = kFirst + core::Duration::milliseconds(burst ? 40'000 : 100 * i);
    queue.come(time);
    queue.leave(time + core::Duration::milliseconds(burst ? 5 * (i - 400) : 0));
  }
  EXPECT_FALSE(queue.backlog(std::nullopt));
}

TEST(QueueGrowth, AQueueThatStandsForMostOfTheRunIsABacklog) {
  // Up in the first 20 s, then as many leave as come, with a dip at the end: no quarter after the
  // second is higher than the one before, and 100 waiting are less than four times sqrt(1 000).
  const auto standing = [](std::int64_t most) {
    return [most](std::int64_t i) -> std::int64_t {
      const std::int64_t full = 100 * most;
      return i < 200 ? full * i / 200 : i < 900 ? full : full - full / 2 * (i - 900) / 100;
    };
  };
  const auto backlog = verdict(standing(100));
  ASSERT_TRUE(backlog);
  EXPECT_GT(backlog->end_s - backlog->begin_s, 50.0);
  EXPECT_GT(backlog->wait_growth, 0.0);
  // 50 are what a stable queue close to saturation may hold in a run of 1 000.
  EXPECT_FALSE(verdict(standing(50)));
}

TEST(QueueGrowth, SmallGrowthMayBeChance) {
  // 2 s over 100 s are less than 1 / sqrt(1 000), 5 s are more.
  EXPECT_FALSE(verdict([](std::int64_t i) { return 2 * i; }));
  EXPECT_TRUE(verdict([](std::int64_t i) { return 5 * i; }));
}

TEST(QueueGrowth, FewRequestsSayNothing) {
  EXPECT_FALSE(verdict([](std::int64_t i) { return 50 * i; }, 19));
  EXPECT_TRUE(verdict([](std::int64_t i) { return 50 * i; }, 40));
  EXPECT_FALSE(verdict([](std::int64_t) { return 0; }, 0));
}

TEST(QueueGrowth, WhatNeverLeavesWaits) {
  QueueGrowth queue;
  queue.start(kFirst);
  for (std::int64_t i = 0; i < 100; ++i) {
    queue.come(kFirst + core::Duration::milliseconds(100 * i));
  }
  const auto backlog = queue.backlog(std::nullopt);
  ASSERT_TRUE(backlog);
  EXPECT_LT(backlog->sustainable_rate, 0.2);
}

TEST(QueueGrowth, RequestsAtOneInstantHaveNoRate) {
  QueueGrowth queue;
  queue.start(kFirst);
  for (std::int64_t i = 0; i < 1000; ++i) {
    queue.come(kFirst);
    queue.leave(kFirst + core::Duration::milliseconds(10 * i));
  }
  EXPECT_FALSE(queue.backlog(std::nullopt));
}

}  // namespace
}  // namespace ridgeline::statistics
