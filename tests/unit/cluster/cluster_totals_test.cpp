#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/cluster.hpp"
#include "cluster/part.hpp"
#include "cluster/tickets.hpp"
#include "cluster_of.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "engine/server.hpp"
#include "support/drive.hpp"
#include "support/routers.hpp"

namespace ridgeline::cluster {
namespace {

using engine::Pause;

TEST_F(ClusterOf, GaugesAndTotalsAreSums) {
  const auto two = cluster(2, routing::maker_of("round-robin")({}));
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

/// Holds each request for ever, and looks at something every 50 ms.
class KeepsAll final : public Part {
 public:
  [[nodiscard]] core::SimTime next_instant() const override { return next_; }
  [[nodiscard]] core::SimTime next_duty() const override { return core::SimTime::never(); }
  void act(core::SimTime /*now*/) override { next_ += core::Duration::milliseconds(50); }
  bool on_arrival(Ticket& /*ticket*/, core::SimTime /*now*/) override { return true; }

 private:
  core::SimTime next_;
};

TEST_F(ClusterOf, ARunInWhichNoRequestMovesEndsWithItsState) {
  std::vector<PartMaker> parts;
  parts.push_back({.kind = PartKind::kFlowControl,
                   .make = [](Fleet& /*fleet*/) { return std::make_unique<KeepsAll>(); }});
  Cluster two({.instance = instance(sink_),
               .num_instances = 2,
               .router = routing::maker_of("least-request")({}),
               .times = {},
               .parts = std::move(parts)});
  two.submit(request(0, 0));
  EXPECT_DEATH(
      two.advance(core::SimTime::never(), false, test::kNoBudget),
      "no request moves any more at 499999.95 s: 1 are in the cluster, 0 to arrive, 0 on their "
      "way to instances, where 0 run and 0 wait; parts that are due, by kind: ");
}

}  // namespace
}  // namespace ridgeline::cluster
