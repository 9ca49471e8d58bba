#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "document/document.hpp"
#include "routing/router.hpp"
#include "support/routers.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(LeastRequest, TakesTheFewestAndDrawsUniformlyAmongEquals) {
  const auto router = maker_of("least-request")({});
  const auto counts = test::counts_over_seeds(*router, test::views_with({2, 1, 5, 1}), 10'000);
  EXPECT_EQ(counts[0] + counts[2], 0.0);
  EXPECT_NEAR(counts[1], 5000, 200);  // Four standard deviations.
  EXPECT_TRUE(router->needs().own);
}

TEST(LeastRequest, WeighsRequestsWithTheOneToCome) {
  const auto router = maker_of("least-request")({});
  auto views = test::views_with({1, 4});
  views[1].weight = 3.0;
  EXPECT_EQ(test::route(*router, views), 1);  // 5/3 against 2.
  views[1].own.requests = 6;
  EXPECT_EQ(test::route(*router, views), 0);  // 7/3 against 2.
}

TEST(LeastRequest, ItsBiasSaysHowMuchRequestsCountAgainstWeights) {
  auto views = test::views_with({1, 4});
  views[1].weight = 3.0;
  const auto with_bias = [](double bias) {
    return maker_of("least-request")(
        {.parameters = {{.name = "active_request_bias", .value = document::Node::real(bias, {})}}});
  };
  EXPECT_EQ(test::route(*with_bias(0.0), views), 1);  // 1 against 1/3.
  EXPECT_EQ(test::route(*with_bias(2.0), views), 0);  // 4 against 25/3.
}

TEST(LeastRequest, ChoosesAmongSoManyDrawn) {
  const auto drawn = [](std::int64_t count) {
    return maker_of("least-request")(
        {.parameters = {{.name = "choice_count", .value = document::Node::integer(count, {})}}});
  };
  // One of two drawn twice with probability 1/4: then it is the busier one.
  const auto two = test::counts_over_seeds(*drawn(2), test::views_with({0, 1}), 10'000);
  EXPECT_NEAR(two[1], 2'500, 174);  // Four standard deviations.
  const auto one = test::counts_over_seeds(*drawn(1), test::views_with({0, 1}), 10'000);
  EXPECT_NEAR(one[1], 5'000, 200);
  const auto many = test::counts_over_seeds(*drawn(64), test::views_with({0, 1}), 1'000);
  EXPECT_EQ(many[1], 0.0);
}

}  // namespace
}  // namespace ridgeline::routing
