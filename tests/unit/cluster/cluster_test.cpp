#include "cluster/cluster.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include "cluster_of.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/server.hpp"
#include "support/drive.hpp"
#include "support/routers.hpp"

namespace ridgeline::cluster {
namespace {

using engine::Pause;

TEST_F(ClusterOf, OneInstanceIsThatInstance) {
  test::RecordingSink alone;
  engine::Instance one(instance(alone));
  const auto many = cluster(1, routing::maker_of("least-request")({}));
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
  const auto two = cluster(2,
                           routing::maker_of("round-robin")({}),
                           {.gateway_latency = core::Duration::microseconds(100)});
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
  const auto two = cluster(2, routing::maker_of("least-request")({}));
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

TEST_F(ClusterOf, AbortsWhereARequestIs) {
  const auto two = cluster(2, routing::maker_of("round-robin")({}));
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
  const auto two = cluster(2, routing::maker_of("round-robin")({}));
  two->submit(request(0, 0));
  two->submit(request(1, 1000));
  two->submit(request(2, 9'000'000));
  EXPECT_EQ(two->advance(us(2500), false, test::kNoBudget), Pause::kLimit);
  two->drop_all();
  ASSERT_EQ(sink_.requests.size(), 2);
  EXPECT_EQ(record(0).outcome, domain::Outcome::kUnfinished);
  EXPECT_EQ(record(1).outcome, domain::Outcome::kUnfinished);
}

TEST_F(ClusterOf, AnInterruptReportsWhatIsOnItsWayToAnInstance) {
  const auto two = cluster(2,
                           routing::maker_of("round-robin")({}),
                           {.gateway_latency = core::Duration::microseconds(900)});
  two->submit(request(0, 0));
  two->submit(request(1, 2000));  // It arrives at 2,900 us.
  EXPECT_EQ(two->advance(us(2500), false, test::kNoBudget), Pause::kLimit);
  two->drop_all();
  ASSERT_EQ(sink_.requests.size(), 2);
  EXPECT_EQ(record(1).outcome, domain::Outcome::kUnfinished);
}

}  // namespace
}  // namespace ridgeline::cluster
