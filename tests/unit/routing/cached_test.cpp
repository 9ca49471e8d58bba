#include <gtest/gtest.h>

#include "routing/router.hpp"
#include "support/routers.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(KvAware, FollowsUnlessTooMuchIsMissing) {
  const auto router = maker_of("production-stack-kvaware")({});
  EXPECT_TRUE(router->needs().cache);
  auto views = test::views_with({9, 9, 0});
  views[1].cached_tokens = 1020;
  // With 3020 tokens exactly 2000 are missing; with 3021 one too many: an instance without
  // statistics.
  EXPECT_EQ(test::route_prompt(*router, views, 0, 7, 3000), 1U);
  EXPECT_EQ(test::route_prompt(*router, views, 1, 7, 3001), 0U);
}

TEST(SglangZmq, TakesTheLeastBusyOfTheLongestMatch) {
  const auto router = maker_of("sglang-zmq")({});
  auto views = test::views_with({9, 5, 0, 5});
  views[0].cached_tokens = views[1].cached_tokens = views[3].cached_tokens = 400;
  EXPECT_EQ(test::route_prompt(*router, views, 0, 7, 980), 1U);
  // 400 of 1400 are less than 0.3; and 66 requests are too far apart.
  EXPECT_EQ(test::route_prompt(*router, views, 1, 7, 1380), 2U);
  views[0].own.requests = 66;
  EXPECT_EQ(test::route_prompt(*router, views, 2, 7, 980), 2U);
}

TEST(LeastKvCache, TakesTheMostFreeCache) {
  const auto router = maker_of("aibrix-least-kv-cache")({});
  auto views = test::views_with({0, 9, 0});
  views[0].gauges.kv_usage = 0.5;
  views[1].gauges.kv_usage = 0.2;
  views[2].gauges.kv_usage = 0.3;
  EXPECT_EQ(test::route(*router, views), 1U);
}

}  // namespace
}  // namespace ridgeline::routing
