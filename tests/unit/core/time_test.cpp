#include "core/time.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "core/units.hpp"

namespace ridgeline::core {
namespace {

TEST(Duration, SumsThatMayLeaveTheRangeStopAtItsEnd) {
  const Duration day = Duration::seconds(86'400);
  EXPECT_EQ(Duration::saturating_sum(day, day), 2 * day);
  EXPECT_EQ(Duration::saturating_product(day, 3), 3 * day);
  EXPECT_EQ(Duration::saturating_sum(Duration::max(), day), Duration::max());
  EXPECT_EQ(Duration::saturating_product(day, 107), Duration::max());  // 2^63 ps are 106.7 days.
  EXPECT_EQ(SimTime::saturating_sum(SimTime::last(), day), SimTime::never());
  EXPECT_EQ(SimTime::saturating_sum(SimTime(), day), SimTime::at(day));
}

TEST(SimTime, LastIsWhatSecondsCanSay) {
  EXPECT_EQ(Duration::from_seconds(9.2e6), SimTime::last().since_start());
  EXPECT_FALSE(Duration::from_seconds(9.2e6 + 1.0).has_value());
  EXPECT_LT(SimTime::last(), SimTime::never());
}

#ifndef NDEBUG
TEST(Duration, BuildsWithAssertionsCheckEverySum) {
  const Duration most = Duration::max();
  const Duration tick = Duration::ticks(1);
  EXPECT_DEATH(static_cast<void>(most + tick), "simulated time leaves the range of int64");
  EXPECT_DEATH(static_cast<void>(Duration() - most - tick - tick), "simulated time leaves");
  EXPECT_DEATH(static_cast<void>(2 * most), "simulated time leaves");
  EXPECT_DEATH(static_cast<void>(SimTime::never() + tick), "simulated time leaves");
}
#endif

// 400e6 ticks times 1e-12 is 0.00039999999999999996, since 1e-12 is no double.
TEST(Duration, IsTheNumberThatAPersonWouldWrite) {
  EXPECT_EQ(Duration::microseconds(400).to_seconds(), 0.0004);
  EXPECT_EQ(Duration::microseconds(394).to_microseconds(), 394.0);
  for (std::int64_t i = 1; i < 100'000; ++i) {
    const Duration time = Duration::microseconds(i);
    ASSERT_EQ(time.to_seconds(), static_cast<double>(i) / 1e6);
    ASSERT_EQ(time.to_milliseconds(), static_cast<double>(i) / 1e3);
    ASSERT_EQ(time.to_microseconds(), static_cast<double>(i));
    ASSERT_EQ(Duration::from_seconds(time.to_seconds()), time);
  }
}

}  // namespace
}  // namespace ridgeline::core
