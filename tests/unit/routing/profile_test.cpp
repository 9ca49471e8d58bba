#include "routing/profile.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "routing/policies/policies.hpp"
#include "routing/router.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

TEST(Profile, DrawsAmongTheHighestSums) {
  const auto router =
      make_profile_router({.scorers = {{.name = "active-request-scorer", .weight = 2.0}}}, {});
  const auto counts = test::counts_over_seeds(*router, test::views_with({2, 1, 1}), 4'000);
  EXPECT_EQ(counts[0], 0.0);
  EXPECT_NEAR(counts[1], 2000, 127);  // Four standard deviations.
}

}  // namespace
}  // namespace ridgeline::routing
