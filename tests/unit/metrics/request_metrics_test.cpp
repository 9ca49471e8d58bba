#include "metrics/request_metrics.hpp"

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "records.hpp"

namespace ridgeline::metrics {
namespace {

using core::Duration;
using testing::finished;
using testing::latency_of;
using testing::rejected;

TEST(Measure, TakesIntervalsFromTheRecordAndThePath) {
  const auto record = finished(0, 10, 30, 90, 4);
  const RequestMetrics metrics = measure(record, latency_of(record));
  EXPECT_EQ(metrics.queue_time, Duration::milliseconds(3));  // 15 - 12
  EXPECT_EQ(metrics.server_ttft, Duration::milliseconds(21));
  EXPECT_EQ(metrics.ttft, Duration::milliseconds(23));
  EXPECT_EQ(metrics.server_e2e, Duration::milliseconds(81));
  EXPECT_EQ(metrics.e2e, Duration::milliseconds(84));
  EXPECT_EQ(metrics.server_tpot, Duration::milliseconds(20));  // (81 - 21) / 3
  EXPECT_EQ(metrics.mean_gap, Duration::milliseconds(20));     // (90 - 30) / 3
  // (84 - 23) ms / 3 = 20.333... ms, to the picosecond.
  EXPECT_EQ(metrics.tpot, Duration::ticks(20'333'333'333));
}

TEST(Measure, RoundsHalfAPicosecondAwayFromZero) {
  auto record = finished(0, 0, 10, 20, 3);
  RequestLatency latency;
  latency.client_e2e = Duration::ticks(7);
  latency.server_e2e = Duration::ticks(6);
  // 7 / 2 = 3.5 and 6 / 2 = 3.
  EXPECT_EQ(measure(record, latency).tpot, Duration::ticks(4));
  EXPECT_EQ(measure(record, latency).server_tpot, Duration::ticks(3));
  // 7 / 3 = 2.33 and 8 / 3 = 2.67.
  record.output_tokens = core::Tokens(4);
  EXPECT_EQ(measure(record, latency).tpot, Duration::ticks(2));
  latency.client_e2e = Duration::ticks(8);
  EXPECT_EQ(measure(record, latency).tpot, Duration::ticks(3));
}

/// Near multiples and halves of many sizes, on both sides of where doubles stop being exact.
TEST(Measure, DividesAsIntegersDo) {
  for (const std::int64_t gaps : {1, 2, 3, 7, 511, 1023, 131'071, 1'000'000'007}) {
    for (int bit = 0; bit < 62; ++bit) {
      const std::int64_t near = (std::int64_t{1} << bit) / gaps * gaps;
      for (const std::int64_t more : {std::int64_t{0}, std::int64_t{1}, gaps / 2, gaps - 1, gaps}) {
        const std::int64_t span = near + more;
        const std::int64_t rest = span % gaps;
        EXPECT_EQ(mean_of_gaps(Duration::ticks(span), gaps).count(),
                  span / gaps + (2 * rest >= gaps ? 1 : 0))
            << span << " / " << gaps;
      }
    }
  }
}

TEST(Measure, ASingleTokenHasNoTimeBetweenTokens) {
  const auto record = finished(0, 0, 30, 30, 1);
  const RequestMetrics metrics = measure(record, latency_of(record));
  EXPECT_EQ(metrics.ttft, Duration::milliseconds(33));
  EXPECT_EQ(metrics.e2e, Duration::milliseconds(34));
  EXPECT_EQ(metrics.tpot, std::nullopt);
  EXPECT_EQ(metrics.server_tpot, std::nullopt);
  EXPECT_EQ(metrics.mean_gap, std::nullopt);
}

TEST(Measure, ACutGenerationIsAnAnswer) {
  auto record = finished(0, 0, 30, 50, 2);
  record.outcome = domain::Outcome::kLengthCapped;
  EXPECT_EQ(measure(record, latency_of(record)).e2e, Duration::milliseconds(54));
}

TEST(Measure, WhatDidNotCompleteHasNoLatencies) {
  const RequestMetrics refused = measure(rejected(0, 5), {});
  EXPECT_EQ(refused.queue_time, std::nullopt);
  EXPECT_EQ(refused.ttft, std::nullopt);
  EXPECT_EQ(refused.e2e, std::nullopt);
  for (const auto outcome : {domain::Outcome::kAborted, domain::Outcome::kUnfinished}) {
    auto record = finished(0, 0, 30, 50, 2);
    record.outcome = outcome;
    record.last_token = core::SimTime::never();
    const RequestMetrics metrics = measure(record, {});
    EXPECT_EQ(metrics.queue_time, Duration::milliseconds(3));
    EXPECT_EQ(metrics.ttft, std::nullopt);
    EXPECT_EQ(metrics.tpot, std::nullopt);
    EXPECT_EQ(metrics.mean_gap, std::nullopt);
    EXPECT_EQ(metrics.server_e2e, std::nullopt);
  }
}

TEST(MeasureDeathTest, RefusesAnEndBeforeTheBeginning) {
  const auto record = finished(0, 0, 30, 50, 2);
  RequestLatency latency = latency_of(record);
  latency.client_e2e = latency.client_ttft - Duration::ticks(1);
  EXPECT_DEATH(static_cast<void>(measure(record, latency)), "an end before its beginning");
  latency = latency_of(record);
  latency.server_ttft = Duration::ticks(-1);
  EXPECT_DEATH(static_cast<void>(measure(record, latency)), "a token before its request");
}

}  // namespace
}  // namespace ridgeline::metrics
