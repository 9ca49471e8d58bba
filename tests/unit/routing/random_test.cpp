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

}  // namespace
}  // namespace ridgeline::routing
