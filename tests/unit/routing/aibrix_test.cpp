#include <gtest/gtest.h>

#include "routing/router.hpp"
#include "support/routers.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(Aibrix, APromptReturnsUnlessItsInstanceIsMuchBusier) {
  const auto router = maker_of("aibrix")({});
  const auto even = test::views_with({1, 1, 1});
  const auto first = test::route_prompt(*router, even, 0, 7, 3200);
  EXPECT_EQ(test::route_prompt(*router, even, 1, 7, 3200), first);
  // Nine more than the least: the least busy alone is looked at.
  std::vector<std::int64_t> busy(3, 0);
  busy[first] = 9;
  EXPECT_NE(test::route_prompt(*router, test::views_with(busy), 2, 7, 3200), first);
}

TEST(Aibrix, WithoutAMatchTheLeastBusyGetsIt) {
  const auto router = maker_of("aibrix")({});
  EXPECT_EQ(test::route_prompt(*router, test::views_with({2, 0, 1}), 0, 7, 3200), 1U);
}

}  // namespace
}  // namespace ridgeline::routing
