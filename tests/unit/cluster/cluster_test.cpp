#include "cluster/cluster.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/part.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "engine/server.hpp"
#include "routing/policies/policies.hpp"
#include "routing/router.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline::cluster {
namespace {

using engine::Pause;

core::SimTime us(std::int64_t count) {
  return core::SimTime::at(core::Duration::microseconds(count));
}

domain::Request request(std::uint32_t id, std::int64_t arrival_us, std::int64_t prompt = 32) {
  domain::Request one;
  one.id = core::RequestId(id);
  one.arrival = us(arrival_us);
  one.prompt_tokens = core::Tokens(prompt);
  one.output_tokens = core::Tokens(8);
  one.max_tokens = one.output_tokens;
  return one;
}

/// Steps of 1,000 us whatever their batch, two seats, 10 us in the frontend.
class ClusterOf : public testing::Test {
 protected:
  ClusterOf() {
    path_.frontend = core::Duration::microseconds(10);
    options_.max_num_seqs = 2;
    options_.num_gpu_blocks = core::Blocks(65);
    options_.async_scheduling = false;
  }

  [[nodiscard]] engine::InstanceInputs instance(domain::RecordSink& sink) const {
    return {.engine = {.options = options_, .model = model_, .host = host_, .sink = sink},
            .path = path_,
            .id = core::InstanceId(0)};
  }
  std::unique_ptr<Cluster> cluster(std::int64_t instances,
                                   std::unique_ptr<routing::Router> router,
                                   const GatewayTimes& times = {}) {
    return std::make_unique<Cluster>(ClusterInputs{.instance = instance(sink_),
                                                   .num_instances = instances,
                                                   .router = std::move(router),
                                                   .times = times});
  }
  [[nodiscard]] const domain::RequestRecord& record(std::uint32_t id) const {
    return *std::ranges::find(sink_.requests, core::RequestId(id), &domain::RequestRecord::id);
  }

  test::RecordingSink sink_;
  engine::EngineOptions options_;
  engine::HostTime host_;
  engine::RequestPath path_;
  test::LinearModel model_ = test::LinearModel({.per_token = core::Duration()});
};

TEST_F(ClusterOf, OneInstanceIsThatInstance) {
  test::RecordingSink alone;
  engine::Instance one(instance(alone));
  const auto many = cluster(1, routing::make_least_request());
  for (std::uint32_t id = 0; id < 12; ++id) {
    one.submit(request(id, 900 * id));
    many->submit(request(id, 900 * id));
  }
  EXPECT_EQ(one.advance(core::SimTime::never(), false, test::kNoBudget), Pause::kIdle);
  EXPECT_EQ(many->advance(core::SimTime::never(), false, test::kNoBudget), Pause::kIdle);
  EXPECT_EQ(sink_.requests, alone.requests);
  EXPECT_EQ(sink_.gaps, alone.gaps);
  EXPECT_EQ(many->totals().steps, one.totals().steps);
  EXPECT_EQ(many->totals().busy, one.totals().busy);
}

TEST_F(ClusterOf, SendsEachRequestToOneInstanceAndKeepsItsArrival) {
  const auto two = cluster(
      2, routing::make_round_robin(), {.gateway_latency = core::Duration::microseconds(100)});
  for (std::uint32_t id = 0; id < 4; ++id) {
    two->submit(request(id, 0));
  }
  EXPECT_EQ(two->advance(core::SimTime::never(), false, test::kNoBudget), Pause::kIdle);
  ASSERT_EQ(sink_.requests.size(), 4);
  for (std::uint32_t id = 0; id < 4; ++id) {
    EXPECT_EQ(record(id).instance, core::InstanceId(id % 2));
    EXPECT_EQ(record(id).arrival, us(0));
    // One after the other through the frontend of its instance.
    EXPECT_EQ(record(id).queued, us(110 + 10 * (id / 2)));
  }
  EXPECT_EQ(two->routing().decisions, 4);
  EXPECT_EQ(two->routing().ties, 0);
}

TEST_F(ClusterOf, AClosedLoopSeesTheFirstEndOfAnyInstance) {
  const auto two = cluster(2, routing::make_least_request());
  two->submit(request(0, 0));
  two->submit(request(1, 0));
  two->submit(request(2, 0));
  // Two requests share an instance; the one alone ends with the first of them, after 8 steps.
  EXPECT_EQ(two->advance(core::SimTime::never(), true, test::kNoBudget), Pause::kCompletion);
  const core::SimTime end = two->now();
  EXPECT_EQ(end, us(8010));
  ASSERT_EQ(sink_.requests.size(), 2);
  // The next request is sent at that instant, to the instance that is idle, and known to be.
  two->submit(request(3, 8010));
  while (two->advance(core::SimTime::never(), true, test::kNoBudget) == Pause::kCompletion) {
  }
  ASSERT_EQ(sink_.requests.size(), 4);
  EXPECT_NE(record(3).instance, record(2).instance);
  EXPECT_EQ(record(3).queued, us(8020));
}

TEST_F(ClusterOf, GaugesAndTotalsAreSums) {
  const auto two = cluster(2, routing::make_round_robin());
  for (std::uint32_t id = 0; id < 6; ++id) {
    two->submit(request(id, 0));
  }
  EXPECT_EQ(two->advance(us(1500), false, test::kNoBudget), Pause::kLimit);
  const engine::InstanceState state = two->state(us(1500));
  EXPECT_EQ(state.running, 4);
  EXPECT_EQ(state.waiting, 2);
  EXPECT_EQ(state.used_blocks + state.free_blocks, core::Blocks(128));
  EXPECT_EQ(two->now(), us(1500));
  EXPECT_EQ(two->advance(core::SimTime::never(), false, test::kNoBudget), Pause::kIdle);
  EXPECT_EQ(two->totals().steps,
            two->instances()[0]->totals().steps + two->instances()[1]->totals().steps);
}

TEST_F(ClusterOf, AbortsWhereARequestIs) {
  const auto two = cluster(2, routing::make_round_robin());
  two->submit(request(0, 0));
  two->submit(request(1, 0));
  two->submit(request(2, 3000));
  EXPECT_EQ(two->advance(us(2500), false, test::kNoBudget), Pause::kLimit);
  two->abort(core::RequestId(1), us(2500));
  two->abort(core::RequestId(2), us(2500));
  two->abort(core::RequestId(1), us(2500));  // It has ended: nothing to do.
  EXPECT_EQ(two->advance(core::SimTime::never(), false, test::kNoBudget), Pause::kIdle);
  ASSERT_EQ(sink_.requests.size(), 3);
  EXPECT_EQ(record(0).outcome, domain::Outcome::kFinished);
  EXPECT_EQ(record(1).outcome, domain::Outcome::kAborted);
  EXPECT_EQ(record(2).outcome, domain::Outcome::kAborted);
  EXPECT_FALSE(record(2).instance.valid());
}

TEST_F(ClusterOf, AnInterruptReportsWhatWasSent) {
  const auto two = cluster(2, routing::make_round_robin());
  two->submit(request(0, 0));
  two->submit(request(1, 1000));
  two->submit(request(2, 9'000'000));
  EXPECT_EQ(two->advance(us(2500), false, test::kNoBudget), Pause::kLimit);
  two->drop_all();
  ASSERT_EQ(sink_.requests.size(), 2);
  EXPECT_EQ(record(0).outcome, domain::Outcome::kUnfinished);
  EXPECT_EQ(record(1).outcome, domain::Outcome::kUnfinished);
}

TEST_F(ClusterOf, ARefusedRequestIsNotCountedAsInFlight) {
  const auto two = cluster(2, routing::make_least_request());
  two->submit(request(0, 0, 100'000));  // Longer than max_model_len.
  two->submit(request(1, 2000));
  EXPECT_EQ(two->advance(core::SimTime::never(), false, test::kNoBudget), Pause::kIdle);
  EXPECT_EQ(record(0).outcome, domain::Outcome::kRejected);
  EXPECT_EQ(two->routing().ties, 2);
}

/// Holds each request for 1,000 us, and sends a request whose first attempt has ended once more.
class HoldsAndRepeats final : public Part {
 public:
  explicit HoldsAndRepeats(Fleet& fleet) : fleet_(fleet) {}

  [[nodiscard]] core::SimTime next_instant() const override {
    return held_.empty() ? core::SimTime::never() : held_.front().second;
  }
  void act(core::SimTime now) override {
    for (; next_instant() == now; held_.erase(held_.begin())) {
      Ticket* const ticket = fleet_.find(held_.front().first);
      ASSERT_NE(ticket, nullptr);
      EXPECT_TRUE(fleet_.dispatch(*ticket, now));
    }
  }
  bool on_arrival(Ticket& ticket, core::SimTime now) override {
    held_.emplace_back(ticket.request.id, now + core::Duration::microseconds(1000));
    return true;
  }
  bool on_leg_end(Ticket& ticket, domain::RequestRecord& record) override {
    if (ticket.dispatches > 1 || record.outcome != domain::Outcome::kFinished) {
      return false;
    }
    held_.emplace_back(ticket.request.id, record.last_token + core::Duration::microseconds(1000));
    return true;
  }
  void on_abort(const Ticket& ticket) override {
    std::erase_if(held_, [&](const auto& entry) { return entry.first == ticket.request.id; });
  }

 private:
  Fleet& fleet_;
  std::vector<std::pair<core::RequestId, core::SimTime>> held_;
};

TEST_F(ClusterOf, APartHoldsRequestsAndSendsThemAgain) {
  std::vector<PartMaker> parts;
  parts.push_back({.kind = PartKind::kFlowControl,
                   .make = [](Fleet& fleet) { return std::make_unique<HoldsAndRepeats>(fleet); }});
  Cluster two({.instance = instance(sink_),
               .num_instances = 2,
               .router = routing::make_least_request(),
               .times = {.gateway_latency = core::Duration::microseconds(90)},
               .parts = std::move(parts)});
  two.submit(request(0, 0));
  two.submit(request(1, 5));
  two.submit(request(2, 10));
  EXPECT_EQ(two.advance(us(500), false, test::kNoBudget), Pause::kLimit);
  two.abort(core::RequestId(1), us(500));  // The part holds it.
  EXPECT_EQ(two.advance(us(1050), false, test::kNoBudget), Pause::kLimit);
  two.abort(core::RequestId(2), us(1050));  // It is on its way to an instance.
  EXPECT_EQ(two.advance(core::SimTime::never(), false, test::kNoBudget), Pause::kIdle);
  ASSERT_EQ(sink_.requests.size(), 3);
  // 1,000 us held, 90 us to the instance, 10 us in the frontend, 8 steps; all that twice.
  EXPECT_EQ(record(0).arrival, us(0));
  EXPECT_EQ(record(0).last_token, us(2 * 9100));
  EXPECT_EQ(record(1).outcome, domain::Outcome::kAborted);
  EXPECT_EQ(record(2).outcome, domain::Outcome::kAborted);
  EXPECT_EQ(two.routing().decisions, 3);
}

}  // namespace
}  // namespace ridgeline::cluster
