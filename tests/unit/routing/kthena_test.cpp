#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "routing/router.hpp"
#include "support/routers.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(Kthena, SumsWholeScores) {
  const auto router = maker_of("kthena")({});
  auto views = test::views_with({4, 2, 4});
  views[1].gauges.kv_usage = 0.49;  // 50 of few requests and 51 of free cache
  views[2].gauges.kv_usage = 0.0;   // against 0 and 100.
  views[0].gauges.kv_usage = 0.5;
  for (InstanceView& view : views) {
    view.gauges.running = view.own.requests;
  }
  EXPECT_EQ(test::route_prompt(*router, views, 0, 7, 3200), 1U);
}

TEST(Kthena, LeavesOutLongQueuesUnlessAllAreLong) {
  const auto router = maker_of("kthena")({});
  auto views = test::views_with({0, 5});
  views[0].gauges.waiting = 10;
  views[1].gauges.running = 5;
  EXPECT_EQ(test::route_prompt(*router, views, 0, 7, 320), 1U);
  views[1].gauges.waiting = 12;
  EXPECT_EQ(test::route_prompt(*router, views, 1, 8, 320), 0U);
}

TEST(Kthena, PromptsThatItSentCount) {
  const auto router = maker_of("kthena")({});
  const auto views = test::views_with({0, 0, 0});
  const auto first = test::route_prompt(*router, views, 0, 7, 3200);
  EXPECT_EQ(test::route_prompt(*router, views, 1, 7, 3200), first);
}

}  // namespace
}  // namespace ridgeline::routing
