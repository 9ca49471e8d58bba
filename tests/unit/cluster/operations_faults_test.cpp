#include <cstdint>

#include <gtest/gtest.h>

#include "cluster/faults/fault.hpp"
#include "cluster/faults/plan.hpp"
#include "cluster/operations.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "operated.hpp"

namespace ridgeline::cluster {
namespace {

TEST_F(Operated, ACrashLosesRequestsAndTheInstanceStartsAgain) {
  strike({.kind = FaultKind::kCrash, .at = in_ms(3), .instance = core::InstanceId(0)});
  build(2, 2);
  send(0, 0);
  send(1, 0);
  send(2, 4);  // Only instance 1 is there.
  send(3, 11);
  run();
  ASSERT_EQ(sink_.requests.size(), 4);
  const auto& lost = record(record(0).instance == core::InstanceId(0) ? 0 : 1);
  EXPECT_EQ(lost.outcome, domain::Outcome::kFailed);
  EXPECT_EQ(lost.failed, in_ms(3));
  // Faults come before the ends of steps: two steps have ended, and the third ends at 3 ms.
  EXPECT_EQ(lost.output_tokens, core::Tokens(2));
  EXPECT_EQ(record(2).instance, core::InstanceId(1));
  EXPECT_EQ(record(3).instance, core::InstanceId(0));  // It is ready from 3 + 7 ms on.
  EXPECT_EQ(record(3).outcome, domain::Outcome::kFinished);
  const OperationsTotals& totals = operations_->totals();
  ASSERT_EQ(totals.faults.size(), 1);
  EXPECT_EQ(totals.faults[0].failed_requests, 1);
  EXPECT_EQ(totals.faults[0].over, in_ms(10));
  EXPECT_EQ(totals.wasted_tokens, core::Tokens(34));
  EXPECT_EQ(operations_->was_ready(core::InstanceId(0), in_ms(20)), Duration::milliseconds(13));
  EXPECT_EQ(operations_->existed(core::InstanceId(0), in_ms(20)), Duration::milliseconds(20));
}

TEST_F(Operated, AHangIsNoticedByTheHealthCheckOrEndsBefore) {
  strike({.kind = FaultKind::kHang,
          .at = in_ms(3),
          .instance = core::InstanceId(0),
          .lasts = Duration::milliseconds(5)});
  strike({.kind = FaultKind::kHang, .at = in_ms(53), .instance = core::InstanceId(0)});
  build(1, 1);
  send(0, 0);
  send(1, 50);
  run();
  EXPECT_EQ(record(0).last_token, in_ms(13));  // 8 steps, and 5 ms between.
  EXPECT_EQ(record(1).outcome, domain::Outcome::kFailed);
  EXPECT_EQ(record(1).failed, in_ms(70));  // It misses the checks of 60 and 70 ms.
  const auto& faults = operations_->totals().faults;
  EXPECT_EQ(faults[0].over, in_ms(8));
  EXPECT_EQ(faults[1].failed_requests, 1);
}

TEST_F(Operated, ASlowdownStretchesStepsWhileItLasts) {
  strike({.kind = FaultKind::kSlowdown,
          .at = in_ms(3),
          .instance = core::InstanceId(0),
          .lasts = Duration::milliseconds(4),
          .factor_thousandths = 3000});
  build(1, 1);
  send(0, 0);
  run();
  // Steps end at 1, 2, 3 ms; the next two take 3 ms each, the last three 1 ms.
  EXPECT_EQ(record(0).last_token, in_ms(12));
}

TEST_F(Operated, AGatewayThatRestartsForgetsItsCounts) {
  strike({.kind = FaultKind::kGatewayRestart, .at = in_ms(2)});
  build(2, 2);
  send(0, 0);
  send(1, 3);  // By the counts of before, instance 1 is free; now both look empty.
  send(2, 3);
  run();
  EXPECT_EQ(record(0).outcome, domain::Outcome::kFinished);
  EXPECT_NE(record(1).instance, record(2).instance);
}

TEST_F(Operated, AGatewayThatRestartsMayCutAllRequests) {
  inputs_.retries.max_retries = 3;
  strike({.kind = FaultKind::kGatewayRestart, .at = in_ms(2), .cuts_requests = true});
  build(1, 1);
  for (std::uint32_t id = 0; id < 3; ++id) {
    send(id, 0);
  }
  send(3, 2);
  run();
  for (std::uint32_t id = 0; id < 3; ++id) {
    EXPECT_EQ(record(id).outcome, domain::Outcome::kFailed);
    EXPECT_EQ(record(id).failed, in_ms(2));
  }
  EXPECT_EQ(record(3).outcome, domain::Outcome::kFinished);
  EXPECT_EQ(operations_->totals().faults[0].failed_requests, 3);
}

/// Two instances to a host: they fail together, and a host is away for MTTR / (MTBF + MTTR).
TEST_F(Operated, NodesThatAreLostByChanceTakeTheirInstances) {
  random_ = {
      {.of_node = true, .mtbf = Duration::milliseconds(300), .mttr = Duration::milliseconds(100)}};
  inputs_.instances_per_host = 2;
  constexpr std::int64_t kInstances = 8;
  constexpr std::int64_t kEnd = 400'000;
  build(kInstances, kInstances);
  for (std::uint32_t id = 0; id <= kEnd / 1000; ++id) {
    send(id, 1000 * id);
  }
  run();
  Duration ready;
  for (std::uint32_t id = 0; id < kInstances; id += 2) {
    const core::InstanceId first(id);
    EXPECT_EQ(operations_->was_ready(first, in_ms(kEnd)),
              operations_->was_ready(core::InstanceId(id + 1), in_ms(kEnd)));
    ready += operations_->was_ready(first, in_ms(kEnd));
  }
  // Four hosts of 1,000 cycles each: A (1 - A) sqrt(2 / 4,000) = 0.0042; three of them.
  EXPECT_NEAR(ready.to_seconds() / (0.001 * kEnd * kInstances / 2), 0.75, 0.0126);
}

TEST_F(Operated, RandomCrashesGiveTheAvailability) {
  random_ = {{.mtbf = Duration::milliseconds(300), .mttr = Duration::milliseconds(100)}};
  constexpr std::int64_t kInstances = 8;
  constexpr std::int64_t kEnd = 400'000;
  build(kInstances, kInstances);
  for (std::uint32_t id = 0; id <= kEnd / 1000; ++id) {
    send(id, 1000 * id);
  }
  run();
  Duration ready;
  for (std::uint32_t id = 0; id < kInstances; ++id) {
    ready += operations_->was_ready(core::InstanceId(id), in_ms(kEnd));
  }
  // With n = 8 * 1000 cycles the share deviates by A (1 - A) sqrt(2 / n) = 0.003; three of them.
  EXPECT_NEAR(ready.to_seconds() / (kInstances * 400.0), 0.75, 0.009);
}

}  // namespace
}  // namespace ridgeline::cluster
