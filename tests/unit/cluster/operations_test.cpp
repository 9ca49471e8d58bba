#include "cluster/operations.hpp"

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/lifecycle.hpp"
#include "cluster/scaling/policies/policies.hpp"
#include "cluster/scaling/registry.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "operated.hpp"
#include "support/linear_model.hpp"

namespace ridgeline::cluster {
namespace {

TEST_F(Operated, WhatHasSentNoTokenIsSentAgain) {
  inputs_.retries = {.max_retries = 1, .retry_backoff = Duration::milliseconds(2)};
  strike({.kind = FaultKind::kCrash,
          .at = in_ms(3),
          .instance = core::InstanceId(0),
          .lasts = Duration::milliseconds(100)});
  build(1, 1);
  send(0, 0);
  send(1, 0);
  send(2, 0);  // Waits for one of the two seats.
  run();
  EXPECT_EQ(record(0).outcome, domain::Outcome::kFailed);
  EXPECT_EQ(record(1).outcome, domain::Outcome::kFailed);
  EXPECT_EQ(record(2).outcome, domain::Outcome::kFinished);
  EXPECT_EQ(record(2).attempts, 2);
  EXPECT_EQ(record(2).arrival, in_ms(0));
  // Sent again at 5 ms, it waits for the instance, which is back at 103 ms.
  EXPECT_EQ(record(2).queued, in_ms(103));
  EXPECT_EQ(operations_->totals().retries, 1);
  EXPECT_EQ(operations_->totals().held_requests, 1);
}

TEST_F(Operated, RetriesEnd) {
  inputs_.retries = {.max_retries = 2, .retry_backoff = Duration()};
  for (const std::int64_t at : {1, 20, 40}) {
    strike({.kind = FaultKind::kCrash, .at = in_ms(at), .instance = core::InstanceId(0)});
  }
  model_ = test::LinearModel({.step = Duration::milliseconds(100), .per_token = Duration()});
  build(1, 1);
  send(0, 0);
  run();
  EXPECT_EQ(record(0).outcome, domain::Outcome::kFailed);
  EXPECT_EQ(record(0).attempts, 3);
  EXPECT_EQ(record(0).failed, in_ms(40));
}

TEST_F(Operated, AScheduleStartsAndDrainsInstances) {
  scaling::ScalerSettings settings;
  settings.replicas_at = {{in_ms(10), 3}, {in_ms(40), 1}};
  scaler_ = scaling::make_schedule(settings);
  build(3, 1);
  run_to(12);
  EXPECT_EQ(state(1), Lifecycle::kLoading);  // Pending from 10 to 11 ms.
  run_to(16);
  EXPECT_EQ(state(1), Lifecycle::kWarming);
  EXPECT_EQ(operations_->num_ready(operations_->places()[0]), 1);
  run_to(18);
  EXPECT_EQ(state(1), Lifecycle::kReady);
  send(0, 35);
  send(1, 35);
  send(2, 35);
  run_to(41);
  EXPECT_THAT((std::vector{state(0), state(1), state(2)}),
              testing::ElementsAre(Lifecycle::kReady, Lifecycle::kDraining, Lifecycle::kDraining));
  send(3, 41);
  run_to(60);
  EXPECT_EQ(state(1), Lifecycle::kGone);
  EXPECT_EQ(state(2), Lifecycle::kGone);
  EXPECT_EQ(record(3).instance, core::InstanceId(0));
  for (std::uint32_t id = 0; id < 4; ++id) {
    EXPECT_EQ(record(id).outcome, domain::Outcome::kFinished);
  }
  // From 10 ms until a tick after the last token, at 43 ms.
  EXPECT_EQ(operations_->existed(core::InstanceId(1), in_ms(60)),
            Duration::milliseconds(33) + Duration::ticks(1));
}

TEST_F(Operated, ADrainThatTakesTooLongLosesRequests) {
  scaling::ScalerSettings settings;
  settings.replicas_at = {{in_ms(10), 1}};
  scaler_ = scaling::make_schedule(settings);
  inputs_.drain_timeout = Duration::milliseconds(3);
  build(2, 2);
  send(0, 9);
  send(1, 9);
  run();
  const bool first_failed = record(0).outcome == domain::Outcome::kFailed;
  const auto& lost = record(first_failed ? 0 : 1);
  EXPECT_EQ(lost.instance, core::InstanceId(1));
  EXPECT_EQ(lost.outcome, domain::Outcome::kFailed);
  EXPECT_EQ(lost.failed, in_ms(13));
  EXPECT_EQ(record(first_failed ? 1 : 0).outcome, domain::Outcome::kFinished);
}

/// Instance 1 hangs without a request, drains at once, and is started again.
TEST_F(Operated, AnInstanceThatHungWhenItDrainedHangsAgain) {
  scaling::ScalerSettings settings;
  settings.replicas_at = {{in_ms(10), 1}, {in_ms(20), 2}};
  scaler_ = scaling::make_schedule(settings);
  for (const std::int64_t at : {5, 32}) {
    strike({.kind = FaultKind::kHang,
            .at = in_ms(at),
            .instance = core::InstanceId(1),
            .lasts = Duration::milliseconds(8)});
  }
  build(2, 2);
  run_to(12);
  EXPECT_EQ(state(1), Lifecycle::kGone);
  send(0, 30);
  send(1, 30);
  run();
  EXPECT_EQ(operations_->totals().faults[1].over, in_ms(40));
  const auto& hung = record(record(0).instance == core::InstanceId(1) ? 0 : 1);
  EXPECT_EQ(hung.instance, core::InstanceId(1));
  EXPECT_EQ(hung.last_token, in_ms(46));  // 8 steps, and 8 ms between.
}

TEST_F(Operated, AnEmptyPoolWakesForARequest) {
  scaling::ScalerSettings settings;
  settings.scaling_interval = Duration::milliseconds(10);
  scaler_ = scaling::make_wva(settings);
  fewest_ = 0;
  build(1, 0);
  send(0, 12);
  run();
  // Held; seen by the reading and the decision of 20 ms; ready at 27 ms.
  EXPECT_EQ(record(0).queued, in_ms(27));
  EXPECT_EQ(record(0).outcome, domain::Outcome::kFinished);
}

/// MTBF / (MTBF + MTTR) of the time, in the mean.

}  // namespace
}  // namespace ridgeline::cluster
