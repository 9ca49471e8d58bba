#include "metrics/wait_growth.hpp"

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {
namespace {

constexpr core::SimTime kFirst = core::SimTime::at(core::Duration::seconds(1000));

/// Of 1 000 requests, one each 100 ms from kFirst on, the i-th of which waits wait_ms(i).
template <class WaitMs>
std::optional<Overload> verdict(WaitMs wait_ms, std::int64_t requests = 1000) {
  WaitGrowth growth;
  growth.start(kFirst);
  // Backwards: the order in which requests end does not matter.
  for (std::int64_t i = requests - 1; i >= 0; --i) {
    growth.add(kFirst + core::Duration::milliseconds(100 * i),
               core::Duration::milliseconds(wait_ms(i)));
  }
  return growth.overload();
}

TEST(WaitGrowth, AQueueThatGrowsThroughoutIsOverload) {
  // 50 ms more for each 100 ms: 10 requests a second, of which 10 / 1.5 are scheduled.
  const auto overload = verdict([](std::int64_t i) { return 50 * i; });
  ASSERT_TRUE(overload);
  EXPECT_NEAR(overload->wait_growth, 0.5, 0.01);
  EXPECT_NEAR(overload->offered_rate, 10.0, 0.3);
  EXPECT_NEAR(overload->sustainable_rate, 10.0 / 1.5, 0.3);
}

TEST(WaitGrowth, AQueueThatDoesNotGrowIsNone) {
  EXPECT_FALSE(verdict([](std::int64_t) { return 0; }));
  EXPECT_FALSE(verdict([](std::int64_t i) { return 5000 + i % 7; }));
  EXPECT_FALSE(verdict([](std::int64_t i) { return 50 * (1000 - i); }));
}

TEST(WaitGrowth, ABurstThatIsWorkedOffIsNone) {
  EXPECT_FALSE(verdict([](std::int64_t i) { return i < 500 ? 50 * i : 50 * (1000 - i); }));
}

TEST(WaitGrowth, SmallGrowthMayBeChance) {
  // 3 s over 100 s is less than 1 / sqrt(1 000), 4 s is more.
  EXPECT_FALSE(verdict([](std::int64_t i) { return 3 * i; }));
  EXPECT_TRUE(verdict([](std::int64_t i) { return 4 * i; }));
}

TEST(WaitGrowth, FewRequestsSayNothing) {
  EXPECT_FALSE(verdict([](std::int64_t i) { return 50 * i; }, 19));
  EXPECT_TRUE(verdict([](std::int64_t i) { return 50 * i; }, 40));
  EXPECT_FALSE(verdict([](std::int64_t) { return 0; }, 0));
}

TEST(WaitGrowth, RequestsAtOneInstantHaveNoRate) {
  WaitGrowth growth;
  growth.start(kFirst);
  for (std::int64_t i = 0; i < 1000; ++i) {
    growth.add(kFirst, core::Duration::milliseconds(10 * i));
  }
  EXPECT_FALSE(growth.overload());
}

}  // namespace
}  // namespace ridgeline::metrics
