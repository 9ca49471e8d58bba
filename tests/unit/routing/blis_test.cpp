#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "routing/router.hpp"
#include "support/routers.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(Blis, WeighsPrefixAsMuchAsLoad) {
  const auto router = maker_of("blis")({});
  auto views = test::views_with({0, 0});
  const std::uint32_t first = test::route_prompt(*router, views, 0, 7, 640);
  EXPECT_EQ(test::route_prompt(*router, views, 1, 7, 640), first);
  views[first].gauges = {.waiting = 3, .running = 0, .kv_usage = 1.0};
  EXPECT_NE(test::route_prompt(*router, views, 2, 7, 640), first);
}

}  // namespace
}  // namespace ridgeline::routing
