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

TEST(RoundRobin, GoesAroundWhateverTheLoad) {
  const auto router = maker_of("round-robin")({});
  const auto views = test::views_with({9, 0, 0});
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t id = 0; id < 7; ++id) {
    chosen.push_back(test::route(*router, views, id));
  }
  EXPECT_EQ(chosen, (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2, 0}));
  EXPECT_TRUE(router->needs().nothing());
}

/// The sequence that NGINX documents for weights 5, 1, 1.
TEST(RoundRobin, TakesTurnsByWeightSmoothly) {
  const auto router = maker_of("round-robin")({});
  const auto views = test::weighted_views({5.0, 1.0, 1.0});
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t id = 0; id < 8; ++id) {
    chosen.push_back(test::route(*router, views, id));
  }
  EXPECT_EQ(chosen, (std::vector<std::uint32_t>{0, 0, 1, 0, 2, 0, 0, 0}));
}

}  // namespace
}  // namespace ridgeline::routing
