#include <set>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "document/document.hpp"
#include "routing/parameters.hpp"
#include "routing/router.hpp"
#include "support/routers.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(ProductionStack, EachSetOfInstancesHasItsTurn) {
  const auto router = maker_of("production-stack-roundrobin")({});
  const auto all = test::views_with({0, 0, 0});
  EXPECT_EQ(test::route(*router, all), 0U);
  EXPECT_EQ(test::route(*router, {all[1], all[2]}), 1U);
  EXPECT_EQ(test::route(*router, all), 1U);
  EXPECT_EQ(test::route(*router, {all[1], all[2]}), 2U);
}

TEST(ProductionStack, SessionsStayAndOthersGoWhereFewWent) {
  const auto router = maker_of("production-stack-session")({});
  const auto views = test::views_with({0, 0, 0});
  const auto at = test::route(*router, views, 0, 0, core::SessionId(5));
  EXPECT_EQ(test::route(*router, views, 1, 0, core::SessionId(5)), at);
  std::set<std::uint32_t> others = {at};
  others.insert(test::route(*router, views, 2));
  others.insert(test::route(*router, views, 3));
  EXPECT_EQ(others.size(), 3U);  // The two without statistics come first.
  EXPECT_NE(test::route(*router, views, 4), at);
}

TEST(ProductionStack, TheLongestBeginningWins) {
  const auto router = maker_of("production-stack-prefixaware")({});
  const auto views = test::views_with({0, 0, 0, 0});
  const auto first = test::route_prompt(*router, views, 0, 7, 3200);
  for (std::uint32_t id = 1; id < 20; ++id) {
    EXPECT_EQ(test::route_prompt(*router, views, id, 7, 3200), first);
  }
}

TEST(ProductionStack, AShortMatchCountsForNothing) {
  const auto router = maker_of("production-stack-prefixaware")(
      {.parameters = {
           {.name = "prefix_min_match_length", .value = document::Node::integer(1'000'000, {})}}});
  const auto views = test::views_with({0, 0});
  const auto first = test::route_prompt(*router, views, 0, 7, 3200);
  EXPECT_NE(test::route_prompt(*router, views, 1, 7, 3200), first);
}

}  // namespace
}  // namespace ridgeline::routing
