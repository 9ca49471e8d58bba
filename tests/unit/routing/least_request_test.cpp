#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "routing/policies/policies.hpp"
#include "routing/router.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(LeastRequest, TakesTheFewestAndDrawsUniformlyAmongEquals) {
  const auto router = make_least_request();
  const auto counts = test::counts_over_seeds(*router, test::views_with({2, 1, 5, 1}), 10'000);
  EXPECT_EQ(counts[0] + counts[2], 0.0);
  EXPECT_NEAR(counts[1], 5000, 200);  // Four standard deviations.
  EXPECT_TRUE(router->needs().own);
}

TEST(LeastRequest, WeighsRequestsWithTheOneToCome) {
  const auto router = make_least_request();
  auto views = test::views_with({1, 4});
  views[1].weight = 3.0;
  EXPECT_EQ(test::route(*router, views), 1);  // 5/3 against 2.
  views[1].own.requests = 6;
  EXPECT_EQ(test::route(*router, views), 0);  // 7/3 against 2.
}

}  // namespace
}  // namespace ridgeline::routing
