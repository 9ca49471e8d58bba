#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "routing/policies/policies.hpp"
#include "routing/router.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(Dynamo, WeighsOverlapAgainstBlocksInFlight) {
  const auto router = make_dynamo();
  auto views = test::views_with({0, 0});
  const std::uint32_t first = test::route_prompt(*router, views, 0, 7, 640);
  EXPECT_EQ(test::route_prompt(*router, views, 1, 7, 640), first);
  // 40 blocks of overlap are worth 40 blocks of prefill or of context, and no more.
  views[first].own.prefill_tokens = 620;
  EXPECT_EQ(test::route_prompt(*router, views, 2, 7, 640), first);
  views[first].own.tokens = 640;
  EXPECT_NE(test::route_prompt(*router, views, 3, 7, 640), first);
}

}  // namespace
}  // namespace ridgeline::routing
