#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "routing/router.hpp"
#include "support/routers.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(VllmDp, CountsPicksUntilTheNextPublication) {
  const auto router = maker_of("vllm-dp@fixed-start")({});
  auto views = test::views_with({0, 0});
  EXPECT_EQ(test::route(*router, views, 0), 0);
  EXPECT_EQ(test::route(*router, views, 1), 1);
  EXPECT_EQ(test::route(*router, views, 2), 0);
  EXPECT_EQ(test::route(*router, views, 3), 1);
  // A new reading of the first takes its picks away; it has nothing to do.
  views[0].gauges_as_of = core::SimTime::at(core::Duration::seconds(1));
  EXPECT_EQ(test::route(*router, views, 4), 0);
  EXPECT_EQ(test::route(*router, views, 5), 0);
}

TEST(VllmDp, LaterGenerationsStartOneFurtherAndSeeFullCaches) {
  const auto views = test::views_with({0, 0, 0});
  const auto rotating = maker_of("vllm-dp@rotating-start")({});
  EXPECT_EQ(test::route(*rotating, views, 0), 0);
  EXPECT_EQ(test::route(*rotating, views, 1), 1);
  const auto newest = maker_of("vllm-dp")({});
  auto full = test::views_with({0, 0});
  full[0].gauges = {.waiting = 1, .running = 0, .kv_usage = 1.0};
  full[0].gauges_as_of = core::SimTime::at(core::Duration::seconds(1));
  full[1].gauges = {.waiting = 0, .running = 3, .kv_usage = 0.2};
  full[1].gauges_as_of = full[0].gauges_as_of;
  EXPECT_EQ(test::route(*newest, full, 0), 1);  // 1 + 6 x 0.5 against 3.
}

}  // namespace
}  // namespace ridgeline::routing
