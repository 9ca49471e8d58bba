#include "plan/mix.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::plan {
namespace {

using testing::ElementsAre;

#define SOLVE_OR_SKIP(mix, question)                                   \
  const auto mix = cheapest_mix(question);                             \
  if (!mix) {                                                          \
    ASSERT_EQ(mix.error().front().hint, "apt install coinor-libcbc3"); \
    GTEST_SKIP() << mix.error().front().message;                       \
  }

/// Short requests are cheap on the small GPU, long ones on the large one.
MixQuestion two_classes() {
  return {.rates = {10.0, 4.0},
          .offers = {{.gpu = "l40s", .gpus = 1, .cost = 1.0, .capacity = {5.0, 0.5}},
                     {.gpu = "h100", .gpus = 1, .cost = 3.0, .capacity = {9.0, 4.0}}}};
}

TEST(Mix, EachClassGoesWhereItIsCheap) {
  SOLVE_OR_SKIP(mix, two_classes())
  ASSERT_TRUE(*mix);
  // Two small ones for the short requests, one large one for the long: 5. All on large ones: 9.
  EXPECT_THAT((*mix)->replicas, ElementsAre(2, 1));
  EXPECT_DOUBLE_EQ((*mix)->cost, 5.0);
  EXPECT_NEAR((*mix)->shares[0][0], 1.0, 1e-6);
  EXPECT_NEAR((*mix)->shares[1][1], 1.0, 1e-6);
}

TEST(Mix, StockAndMostGpusBind) {
  MixQuestion question = two_classes();
  question.stock = {{"l40s", 0}};
  SOLVE_OR_SKIP(mix, question)
  ASSERT_TRUE(*mix);
  EXPECT_THAT((*mix)->replicas, ElementsAre(0, 3));
  question.max_gpus = 2;
  EXPECT_FALSE(cheapest_mix(question)->has_value());
}

TEST(Mix, AClassThatNoOfferServesHasNoMix) {
  MixQuestion question = two_classes();
  question.offers[0].capacity[1] = 0.0;
  question.offers[1].capacity[1] = 0.0;
  SOLVE_OR_SKIP(mix, question)
  EXPECT_FALSE(mix->has_value());
}

TEST(Mix, OfEqualCostsFewGpusAndEarlierOffersComeFirst) {
  MixQuestion question{.rates = {4.0},
                       .offers = {{.gpu = "a", .gpus = 4, .cost = 4.0, .capacity = {4.0}},
                                  {.gpu = "b", .gpus = 2, .cost = 4.0, .capacity = {4.0}},
                                  {.gpu = "c", .gpus = 2, .cost = 4.0, .capacity = {4.0}}}};
  SOLVE_OR_SKIP(mix, question)
  EXPECT_THAT((*mix)->replicas, ElementsAre(0, 1, 0));
}

}  // namespace
}  // namespace ridgeline::plan
