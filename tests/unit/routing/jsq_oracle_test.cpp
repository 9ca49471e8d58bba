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

TEST(JsqOracle, CountsWhatNoGatewayKnows) {
  const auto router = maker_of("jsq-oracle")({});
  auto views = test::views_with({0, 7});
  views[0].true_requests = 3;
  views[1].true_requests = 2;
  EXPECT_EQ(test::route(*router, views), 1);
  EXPECT_TRUE(router->needs().truth);
}

}  // namespace
}  // namespace ridgeline::routing
