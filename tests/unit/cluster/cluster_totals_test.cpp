#include <cstdint>

#include <gtest/gtest.h>

#include "cluster_of.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "engine/server.hpp"
#include "routing/policies/policies.hpp"
#include "support/drive.hpp"

namespace ridgeline::cluster {
namespace {

using engine::Pause;

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

}  // namespace
}  // namespace ridgeline::cluster
