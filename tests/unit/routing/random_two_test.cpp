#include <cstdint>

#include <gtest/gtest.h>

#include "support/routers.hpp"
#include "unit/routing/views.hpp"

namespace ridgeline::routing {
namespace {

constexpr std::uint64_t kSeeds = 6'000;

TEST(RandomTwo, TheBusiestOfThreeIsNeverChosen) {
  const auto router = maker_of("random-two")({});
  const auto counts = test::counts_over_seeds(*router, test::views_with({1, 3, 2}), kSeeds);
  EXPECT_EQ(counts[1], 0.0);
  EXPECT_NEAR(counts[0], 4'000, 147);  // It is in two of three pairs; four standard deviations.
}

TEST(RandomTwo, OfEqualsTheSecondDrawnIsChosen) {
  // The first is drawn with probability 3/4, so that the second is the other one as often.
  const auto router = maker_of("random-two")({});
  auto views = test::weighted_views({3.0, 1.0});
  const auto counts = test::counts_over_seeds(*router, views, kSeeds);
  EXPECT_NEAR(counts[1], 4'500, 135);
  views[0].own.requests = 2;  // 2/3 against 1.
  views[1].own.requests = 1;
  EXPECT_EQ(test::counts_over_seeds(*router, views, kSeeds)[1], 0.0);
}

TEST(RandomTwo, TakesTheOnlyInstance) {
  const auto router = maker_of("random-two")({});
  EXPECT_EQ(test::route(*router, test::views_with({5})), 0U);
}

}  // namespace
}  // namespace ridgeline::routing
