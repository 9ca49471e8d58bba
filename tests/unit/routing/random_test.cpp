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

TEST(Random, IsUniformOverSeeds) {
  const auto router = make_random();
  // 10,000 draws of 4: a standard deviation is 43.
  for (const double count :
       test::counts_over_seeds(*router, test::views_with({9, 0, 0, 3}), 10'000)) {
    EXPECT_NEAR(count, 2500, 173);
  }
  EXPECT_TRUE(router->needs().nothing());
}

TEST(Random, TakesEachInProportionToItsWeight) {
  const auto router = make_random();
  // 10,000 draws: standard deviations of 40, 49 and 30.
  const auto counts =
      test::counts_over_seeds(*router, test::weighted_views({2.0, 6.0, 1.0, 1.0}), 10'000);
  EXPECT_NEAR(counts[0], 2000, 160);
  EXPECT_NEAR(counts[1], 6000, 196);
  EXPECT_NEAR(counts[2], 1000, 120);
}

}  // namespace
}  // namespace ridgeline::routing
