#include <cstdint>

#include <gtest/gtest.h>

#include "cluster/lifecycle.hpp"
#include "cluster/operations.hpp"
#include "cluster/scaling/policies/policies.hpp"
#include "cluster/scaling/registry.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "operated.hpp"

namespace ridgeline::cluster {
namespace {

class Updated : public Operated {
 protected:
  void update_at(std::int64_t when_ms, std::int64_t surge, std::int64_t unavailable) {
    inputs_.places = {{.count = static_cast<std::size_t>(2 + surge), .initial = 2}};
    inputs_.updates = {
        {.at = in_ms(when_ms),
         .rule = {.surge = {.value = surge}, .unavailable = {.value = unavailable}}}};
    build(2 + surge, 2);
  }
  [[nodiscard]] const UpdateReport& report() const { return operations_->totals().updates.at(0); }
};

/// Starts take 7 ms.
TEST_F(Updated, ASurgeKeepsAllReady) {
  update_at(10, 1, 0);
  run_to(11);
  EXPECT_EQ(state(0), Lifecycle::kReady);
  EXPECT_EQ(state(1), Lifecycle::kReady);
  EXPECT_EQ(state(2), Lifecycle::kPending);
  EXPECT_EQ(report().starting, 1);
  EXPECT_EQ(report().replaced, 0);
  run_to(18);  // The new one is ready, an old one without requests is gone: the next one starts.
  EXPECT_EQ(state(2), Lifecycle::kReady);
  EXPECT_EQ(state(1), Lifecycle::kPending);
  EXPECT_EQ(state(0), Lifecycle::kReady);
  run_to(25);
  EXPECT_EQ(state(0), Lifecycle::kGone);
  EXPECT_EQ(state(1), Lifecycle::kReady);
  EXPECT_EQ(report().replaced, 2);
  EXPECT_EQ(report().starting, 0);
  EXPECT_EQ(report().fewest_ready, 2);
  EXPECT_EQ(report().over, in_ms(24));
}

TEST_F(Updated, WithoutASurgeOneDrainsBeforeTheNextStarts) {
  update_at(3, 0, 1);
  send(0, 0);  // 8 tokens, a millisecond each: on instance 0 or 1 until 8 ms.
  send(1, 0);
  run_to(5);
  EXPECT_EQ(state(1), Lifecycle::kDraining);
  EXPECT_EQ(state(0), Lifecycle::kReady);
  run_to(9);
  EXPECT_NE(state(1), Lifecycle::kDraining);
  EXPECT_NE(state(1), Lifecycle::kReady);
  run_to(40);
  EXPECT_EQ(report().replaced, 2);
  EXPECT_EQ(report().fewest_ready, 1);
  EXPECT_NE(report().over, core::SimTime::never());
  EXPECT_EQ(record(0).outcome, domain::Outcome::kFinished);
  EXPECT_EQ(record(1).outcome, domain::Outcome::kFinished);
  EXPECT_EQ(report().failed_requests, 0);
}

TEST_F(Updated, ADrainTimeoutLosesRequestsThatMayBeSentAgain) {
  inputs_.drain_timeout = Duration::milliseconds(1);
  inputs_.retries = {.max_retries = 1, .retry_backoff = Duration()};
  update_at(3, 0, 2);
  for (std::uint32_t id = 0; id < 6; ++id) {  // Four have seats, two wait.
    send(id, 0);
  }
  run();
  EXPECT_EQ(report().failed_requests, 6);
  EXPECT_EQ(report().rerouted_requests, 2);
  EXPECT_EQ(report().fewest_ready, 0);
  EXPECT_EQ(operations_->totals().held_requests, 2);
}

/// It is counted where it was sent, so that the instance drains; it ends without having come there.
TEST_F(Updated, ADrainEndsWithARequestThatIsCutOnItsWay) {
  times_.gateway_latency = Duration::milliseconds(4);
  strike({.kind = FaultKind::kGatewayRestart, .at = in_ms(4), .cuts_requests = true});
  update_at(3, 0, 2);
  send(0, 2);
  run_to(40);
  EXPECT_EQ(record(0).outcome, domain::Outcome::kFailed);
  EXPECT_EQ(report().replaced, 2);
  // They are gone a tick after 4 ms, and starts take 7 ms.
  EXPECT_EQ(report().over, in_ms(11) + Duration::ticks(1));
}

TEST_F(Updated, AnOldInstanceThatCrashedIsReplacedFirst) {
  strike({.kind = FaultKind::kCrash,
          .at = in_ms(2),
          .instance = core::InstanceId(0),
          .lasts = Duration::seconds(9)});
  update_at(3, 1, 1);
  run_to(4);
  EXPECT_EQ(state(1), Lifecycle::kReady);
  EXPECT_NE(state(0), Lifecycle::kReady);
  run_to(30);
  EXPECT_EQ(report().replaced, 2);
  EXPECT_EQ(operations_->num_ready(operations_->places()[0]), 2);
}

/// From 12 ms on there are to be three: the update starts them, as new ones.
TEST_F(Updated, AnAutoscalerSaysHowManyThereAreToBe) {
  scaling::ScalerSettings settings;
  settings.replicas_at = {{in_ms(12), 3}, {in_ms(60), 1}, {in_ms(80), 2}};
  scaler_ = scaling::make_schedule(settings);
  inputs_.places = {{.count = 4, .initial = 2}};
  inputs_.updates = {
      {.at = in_ms(10), .places = 0, .rule = {.surge = {.value = 1}, .unavailable = {.value = 0}}}};
  build(4, 2);
  run_to(11);
  EXPECT_EQ(operations_->num_replicas(operations_->places()[0]), 2);
  EXPECT_EQ(state(2), Lifecycle::kPending);
  run_to(13);
  EXPECT_EQ(operations_->num_replicas(operations_->places()[0]), 3);
  EXPECT_EQ(report().starting, 2);
  EXPECT_NE(state(3), Lifecycle::kGone);
  run_to(50);
  EXPECT_EQ(report().replicas, 3);
  EXPECT_EQ(report().replaced, 2);
  EXPECT_EQ(report().fewest_ready, 2);
  EXPECT_NE(report().over, core::SimTime::never());
  EXPECT_EQ(operations_->num_ready(operations_->places()[0]), 3);
  const auto of_update = [this] {
    std::int64_t count = 0;
    for (core::InstanceId::Rep id = 0; id < 4; ++id) {
      const core::InstanceId instance(id);
      count += is_starting(operations_->state(instance)) && operations_->is_of_update(instance);
    }
    return count;
  };
  run_to(70);  // The update is over: scaling drains as ever.
  EXPECT_EQ(operations_->num_ready(operations_->places()[0]), 1);
  run_to(82);  // And what starts is the autoscaler's.
  EXPECT_EQ(operations_->num_replicas(operations_->places()[0]), 2);
  EXPECT_EQ(of_update(), 0);
}

}  // namespace
}  // namespace ridgeline::cluster
