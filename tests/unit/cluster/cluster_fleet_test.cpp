// What the parts of a cluster may do with it: hold requests, send them again, and lose none.
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/cluster.hpp"
#include "cluster/part.hpp"
#include "cluster/tickets.hpp"
#include "cluster_of.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "engine/server.hpp"
#include "support/drive.hpp"
#include "support/routers.hpp"

namespace ridgeline::cluster {
namespace {

using engine::Pause;

TEST_F(ClusterOf, ARefusedRequestIsNotCountedAsInFlight) {
  const auto two = cluster(2, routing::maker_of("least-request")({}));
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
               .router = routing::maker_of("least-request")({}),
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
