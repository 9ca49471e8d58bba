#include "cluster/faults/retry.hpp"

#include <gtest/gtest.h>

#include "cluster/faults/health_check.hpp"
#include "core/time.hpp"

namespace ridgeline::faults {
namespace {

using core::Duration;

TEST(Retries, WaitTwiceAsLongEachTime) {
  const Retries retries;
  EXPECT_EQ(retries.backoff(1), Duration::milliseconds(50));
  EXPECT_EQ(retries.backoff(2), Duration::milliseconds(100));
  EXPECT_EQ(retries.backoff(5), Duration::milliseconds(800));
  EXPECT_EQ(retries.backoff(1'000'000), Duration::seconds(30));
  const Retries patient{.retry_backoff = Duration::seconds(45)};
  EXPECT_EQ(patient.backoff(1), Duration::seconds(45));
  EXPECT_EQ(patient.backoff(3), Duration::seconds(45));
}

TEST(HealthCheck, NoticesAfterSoManyMissedChecks) {
  const HealthCheck check;
  const auto at = [](std::int64_t seconds) {
    return core::SimTime::at(Duration::seconds(seconds));
  };
  EXPECT_EQ(check.noticed(at(61)), at(90));  // Misses 70, 80, 90.
  EXPECT_EQ(check.noticed(at(60)), at(80));  // Misses 60, 70, 80.
  const HealthCheck strict{.interval = Duration::seconds(2), .failures = 1};
  EXPECT_EQ(strict.noticed(at(61)), at(62));
}

}  // namespace
}  // namespace ridgeline::faults
