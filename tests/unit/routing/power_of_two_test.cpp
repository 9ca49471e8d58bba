#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "routing/router.hpp"
#include "support/routers.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(PowerOfTwo, NeverTakesTheWorstAndDrawsPairsUniformly) {
  const auto router = maker_of("power-of-two")({});
  // Pairs {0,1}, {0,2}, {1,2} are equally likely: 0 wins two of them, 1 wins one.
  const auto counts = test::counts_over_seeds(*router, test::views_with({0, 1, 2}), 9'000);
  EXPECT_EQ(counts[2], 0.0);
  EXPECT_NEAR(counts[0], 6000, 179);  // Four standard deviations.
  EXPECT_TRUE(router->needs().own);
}

TEST(PowerOfTwo, HasNoChoiceWithOneInstance) {
  const auto router = maker_of("power-of-two")({});
  EXPECT_EQ(test::route(*router, test::views_with({4})), 0);
}

}  // namespace
}  // namespace ridgeline::routing
