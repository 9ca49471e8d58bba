#include "cluster/operations.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/cluster.hpp"
#include "cluster/lifecycle.hpp"
#include "cluster/part.hpp"
#include "cluster/scaling_part.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "faults/fault.hpp"
#include "faults/plan.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"
#include "scaling/policies/policies.hpp"
#include "scaling/registry.hpp"
#include "scaling/scaler.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline::cluster {
namespace {

using core::Duration;
using faults::Fault;
using faults::FaultKind;

core::SimTime at_ms(std::int64_t count) {
  return core::SimTime::at(Duration::milliseconds(count));
}

/// Steps of 1 ms whatever their batch, answers of 8 tokens, two seats per instance; instances start
/// in 7 ms: 1 pending, 4 loading, 2 warming.
class Operated : public testing::Test {
 protected:
  Operated() {
    options_.max_num_seqs = 2;
    options_.num_gpu_blocks = core::Blocks(65);
    options_.async_scheduling = false;
    inputs_.cold_start = {.schedule = {.mean = Duration::milliseconds(1)},
                          .pull = {},
                          .load = {.mean = Duration::milliseconds(4)},
                          .compile = {.mean = Duration::milliseconds(2)},
                          .capture = {},
                          .warm_up = {}};
    inputs_.new_router = new_router;
    inputs_.health_check = {.interval = Duration::milliseconds(10), .failures = 2};
  }

  static std::unique_ptr<routing::Router> new_router() {
    return (*routing::find_router("least-request"))->make({});
  }

  void strike(const Fault& fault) { listed_.push_back({.fault = fault}); }

  void build(std::int64_t places, std::int64_t initial) {
    inputs_.initial_instances = initial;
    inputs_.faults = faults::FaultPlan(listed_, random_, initial, 1);
    ClusterInputs inputs{
        .instance = {.engine = {.options = options_, .model = model_, .host = host_, .sink = sink_},
                     .path = path_,
                     .id = core::InstanceId(0),
                     .may_slow_down = true},
        .num_instances = places,
        .router = new_router(),
        .times = {},
        .seed = 1,
        .eager = eager_};
    inputs.parts.push_back({.kind = PartKind::kFaults, .make = [&](Fleet& fleet) {
                              auto part = std::make_unique<Operations>(fleet, inputs_);
                              operations_ = part.get();
                              return part;
                            }});
    if (scaler_ != nullptr) {
      inputs.parts.push_back({.kind = PartKind::kScaling, .make = [&](Fleet& fleet) {
                                return std::make_unique<ScalingPart>(
                                    fleet,
                                    *operations_,
                                    ScalingInputs{.scaler = std::move(scaler_),
                                                  .min_replicas = fewest_,
                                                  .max_replicas = places,
                                                  .metrics_interval = Duration::milliseconds(5),
                                                  .kv_capacity = core::Tokens(1024)});
                              }});
    }
    cluster_ = std::make_unique<Cluster>(std::move(inputs));
  }

  void send(std::uint32_t id, std::int64_t when_ms) {
    domain::Request one;
    one.id = core::RequestId(id);
    one.arrival = at_ms(when_ms);
    one.prompt_tokens = core::Tokens(32);
    one.output_tokens = core::Tokens(8);
    one.max_tokens = one.output_tokens;
    cluster_->submit(one);
  }
  void run() { cluster_->advance(core::SimTime::never(), false, test::kNoBudget); }
  void run_to(std::int64_t when_ms) { cluster_->advance(at_ms(when_ms), false, test::kNoBudget); }

  [[nodiscard]] const domain::RequestRecord& record(std::uint32_t id) const {
    return *std::ranges::find(sink_.requests, core::RequestId(id), &domain::RequestRecord::id);
  }
  [[nodiscard]] Lifecycle state(std::uint32_t id) const {
    return operations_->state(core::InstanceId(id));
  }

  test::RecordingSink sink_;
  engine::EngineOptions options_;
  engine::HostTime host_;
  engine::RequestPath path_;
  test::LinearModel model_ = test::LinearModel({.per_token = Duration()});
  OperationsInputs inputs_;
  std::vector<faults::ListedFault> listed_;
  std::optional<faults::RandomFaults> random_;
  std::unique_ptr<scaling::Scaler> scaler_;
  std::int64_t fewest_ = 1;
  bool eager_ = false;
  Operations* operations_ = nullptr;
  std::unique_ptr<Cluster> cluster_;
};

TEST_F(Operated, ACrashLosesRequestsAndTheInstanceStartsAgain) {
  strike({.kind = FaultKind::kCrash, .at = at_ms(3), .instance = core::InstanceId(0)});
  build(2, 2);
  send(0, 0);
  send(1, 0);
  send(2, 4);  // Only instance 1 is there.
  send(3, 11);
  run();
  ASSERT_EQ(sink_.requests.size(), 4);
  const auto& lost = record(record(0).instance == core::InstanceId(0) ? 0 : 1);
  EXPECT_EQ(lost.outcome, domain::Outcome::kFailed);
  EXPECT_EQ(lost.failed, at_ms(3));
  // Faults come before the ends of steps: two steps have ended, and the third ends at 3 ms.
  EXPECT_EQ(lost.output_tokens, core::Tokens(2));
  EXPECT_EQ(record(2).instance, core::InstanceId(1));
  EXPECT_EQ(record(3).instance, core::InstanceId(0));  // It is ready from 3 + 7 ms on.
  EXPECT_EQ(record(3).outcome, domain::Outcome::kFinished);
  const OperationsTotals& totals = operations_->totals();
  ASSERT_EQ(totals.faults.size(), 1);
  EXPECT_EQ(totals.faults[0].failed_requests, 1);
  EXPECT_EQ(totals.faults[0].over, at_ms(10));
  EXPECT_EQ(totals.wasted_tokens, core::Tokens(34));
  EXPECT_EQ(operations_->was_ready(core::InstanceId(0), at_ms(20)), Duration::milliseconds(13));
  EXPECT_EQ(operations_->existed(core::InstanceId(0), at_ms(20)), Duration::milliseconds(20));
}

TEST_F(Operated, WhatHasSentNoTokenIsSentAgain) {
  inputs_.retries = {.max_retries = 1, .retry_backoff = Duration::milliseconds(2)};
  strike({.kind = FaultKind::kCrash,
          .at = at_ms(3),
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
  EXPECT_EQ(record(2).arrival, at_ms(0));
  // Sent again at 5 ms, it waits for the instance, which is back at 103 ms.
  EXPECT_EQ(record(2).queued, at_ms(103));
  EXPECT_EQ(operations_->totals().retries, 1);
  EXPECT_EQ(operations_->totals().held_requests, 1);
}

TEST_F(Operated, RetriesEnd) {
  inputs_.retries = {.max_retries = 2, .retry_backoff = Duration()};
  for (const std::int64_t at : {1, 20, 40}) {
    strike({.kind = FaultKind::kCrash, .at = at_ms(at), .instance = core::InstanceId(0)});
  }
  model_ = test::LinearModel({.step = Duration::milliseconds(100), .per_token = Duration()});
  build(1, 1);
  send(0, 0);
  run();
  EXPECT_EQ(record(0).outcome, domain::Outcome::kFailed);
  EXPECT_EQ(record(0).attempts, 3);
  EXPECT_EQ(record(0).failed, at_ms(40));
}

TEST_F(Operated, AHangIsNoticedByTheHealthCheckOrEndsBefore) {
  strike({.kind = FaultKind::kHang,
          .at = at_ms(3),
          .instance = core::InstanceId(0),
          .lasts = Duration::milliseconds(5)});
  strike({.kind = FaultKind::kHang, .at = at_ms(53), .instance = core::InstanceId(0)});
  build(1, 1);
  send(0, 0);
  send(1, 50);
  run();
  EXPECT_EQ(record(0).last_token, at_ms(13));  // 8 steps, and 5 ms between.
  EXPECT_EQ(record(1).outcome, domain::Outcome::kFailed);
  EXPECT_EQ(record(1).failed, at_ms(70));  // It misses the checks of 60 and 70 ms.
  const auto& faults = operations_->totals().faults;
  EXPECT_EQ(faults[0].over, at_ms(8));
  EXPECT_EQ(faults[1].failed_requests, 1);
}

TEST_F(Operated, ASlowdownStretchesStepsWhileItLasts) {
  strike({.kind = FaultKind::kSlowdown,
          .at = at_ms(3),
          .instance = core::InstanceId(0),
          .lasts = Duration::milliseconds(4),
          .factor_thousandths = 3000});
  build(1, 1);
  send(0, 0);
  run();
  // Steps end at 1, 2, 3 ms; the next two take 3 ms each, the last three 1 ms.
  EXPECT_EQ(record(0).last_token, at_ms(12));
}

TEST_F(Operated, AGatewayThatRestartsForgetsItsCounts) {
  strike({.kind = FaultKind::kGatewayRestart, .at = at_ms(2)});
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
  strike({.kind = FaultKind::kGatewayRestart, .at = at_ms(2), .cuts_requests = true});
  build(1, 1);
  for (std::uint32_t id = 0; id < 3; ++id) {
    send(id, 0);
  }
  send(3, 2);
  run();
  for (std::uint32_t id = 0; id < 3; ++id) {
    EXPECT_EQ(record(id).outcome, domain::Outcome::kFailed);
    EXPECT_EQ(record(id).failed, at_ms(2));
  }
  EXPECT_EQ(record(3).outcome, domain::Outcome::kFinished);
  EXPECT_EQ(operations_->totals().faults[0].failed_requests, 3);
}

TEST_F(Operated, AScheduleStartsAndDrainsInstances) {
  scaling::ScalerSettings settings;
  settings.replicas_at = {{at_ms(10), 3}, {at_ms(40), 1}};
  scaler_ = scaling::make_schedule(settings);
  build(3, 1);
  run_to(12);
  EXPECT_EQ(state(1), Lifecycle::kLoading);  // Pending from 10 to 11 ms.
  run_to(16);
  EXPECT_EQ(state(1), Lifecycle::kWarming);
  EXPECT_EQ(operations_->num_ready(), 1);
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
  EXPECT_EQ(operations_->existed(core::InstanceId(1), at_ms(60)),
            Duration::milliseconds(33) + Duration::ticks(1));
}

TEST_F(Operated, ADrainThatTakesTooLongLosesRequests) {
  scaling::ScalerSettings settings;
  settings.replicas_at = {{at_ms(10), 1}};
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
  EXPECT_EQ(lost.failed, at_ms(13));
  EXPECT_EQ(record(first_failed ? 1 : 0).outcome, domain::Outcome::kFinished);
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
  EXPECT_EQ(record(0).queued, at_ms(27));
  EXPECT_EQ(record(0).outcome, domain::Outcome::kFinished);
}

/// MTBF / (MTBF + MTTR) of the time, in the mean.
TEST_F(Operated, RandomCrashesGiveTheAvailability) {
  random_ = faults::RandomFaults{.mtbf = Duration::milliseconds(300),
                                 .mttr = Duration::milliseconds(100)};
  constexpr std::int64_t kInstances = 8;
  constexpr std::int64_t kEnd = 400'000;
  build(kInstances, kInstances);
  for (std::uint32_t id = 0; id <= kEnd / 1000; ++id) {
    send(id, 1000 * id);
  }
  run();
  Duration ready;
  for (std::uint32_t id = 0; id < kInstances; ++id) {
    ready += operations_->was_ready(core::InstanceId(id), at_ms(kEnd));
  }
  // Of n = 8 * 1000 cycles the share deviates by A (1 - A) sqrt(2 / n) = 0.003; three of them.
  EXPECT_NEAR(ready.to_seconds() / (kInstances * 400.0), 0.75, 0.009);
}

}  // namespace
}  // namespace ridgeline::cluster
