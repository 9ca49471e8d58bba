#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "routing/router.hpp"
#include "support/routers.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(Sglang, FollowsPromptsWhileLoadsAreAlike) {
  const auto router = maker_of("sglang")({});
  EXPECT_EQ(test::route_prompt(*router, test::views_with({3, 2}), 0, 7, 640), 1);
  EXPECT_EQ(test::route_prompt(*router, test::views_with({2, 3}), 1, 7, 640), 1);
  EXPECT_EQ(test::route_prompt(*router, test::views_with({2, 70}), 2, 7, 640), 0);
  // Less than three tenths of the prompt is known.
  EXPECT_EQ(test::route_prompt(*router, test::views_with({2, 3}), 3, 9, 640), 0);
}

}  // namespace
}  // namespace ridgeline::routing
