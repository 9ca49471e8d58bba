#include "cluster/scaling/rules.hpp"

#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::scaling {
namespace {

using testing::ElementsAre;

TEST(SpareCapacity, AddsOneOfTheCheapestAndTakesOneOfTheDearest) {
  const std::vector<VariantCounts> variants = {{.current = 2, .cost = 10.0},
                                               {.current = 2, .cost = 4.0}};
  const auto busy =
      spare_capacity({{0, 0.7, 0.0}, {0, 0.75, 1.0}, {1, 0.75, 0.0}, {1, 0.9, 0.0}}, variants);
  EXPECT_EQ(busy.unsaturated, 3);
  EXPECT_TRUE(busy.up);
  EXPECT_THAT(busy.targets, ElementsAre(2, 3));
  const auto calm =
      spare_capacity({{0, 0.1, 0.0}, {0, 0.1, 0.0}, {1, 0.1, 0.0}, {1, 0.1, 0.0}}, variants);
  EXPECT_TRUE(calm.down_is_safe);
  EXPECT_THAT(calm.targets, ElementsAre(1, 2));
  // A count that disagrees holds the whole model.
  EXPECT_THAT(spare_capacity({{0, 0.9, 0.0}}, variants).targets, ElementsAre(2, 2));
}

TEST(TokenCapacity, CountsTokensHeldAndWaiting) {
  const auto up = token_capacity({{0, 1000.0, 700.0, 1.0, 5.0}}, 0.0);
  EXPECT_DOUBLE_EQ(up.demand, 700.0 + 512.0);
  EXPECT_DOUBLE_EQ(up.required, 1212.0 / 0.8 - 800.0);
  EXPECT_EQ(up.delta, 1);
  const auto down = token_capacity({{0, 1000.0, 20.0, 0.0, 5.0}, {0, 1000.0, 20.0, 0.0, 5.0}}, 0.0);
  EXPECT_DOUBLE_EQ(down.spare, 1600.0 - 100.0);
  EXPECT_EQ(down.delta, -1);
}

TEST(PlannedReplicas, OneAboveIsEnoughAllMustBeBelow) {
  EXPECT_EQ(planned_replicas({0.2, 1.0}, 2, 1, {}), 3);
  EXPECT_EQ(planned_replicas({0.2, 0.05}, 2, 1, {}), std::nullopt);
  EXPECT_EQ(planned_replicas({0.01, 0.05}, 2, 1, {}), 1);
  EXPECT_EQ(planned_replicas({0.01, 0.05}, 2, 2, {}), std::nullopt);
}

}  // namespace
}  // namespace ridgeline::scaling
