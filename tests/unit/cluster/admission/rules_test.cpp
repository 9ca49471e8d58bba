#include "cluster/admission/rules.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "routing/scorers/candidate.hpp"

namespace ridgeline::admission {
namespace {

TEST(ProbabilisticAdmitter, ShedsMoreAsSaturationRises) {
  const ProbabilisticAdmitter admitter;
  EXPECT_TRUE(admitter.admits(0, 5.0, 0.0));
  EXPECT_TRUE(admitter.admits(-1, 0.0, 0.0));
  // 300 * 0.2^5 = 0.096.
  EXPECT_FALSE(admitter.admits(-1, 0.2, 0.095));
  EXPECT_TRUE(admitter.admits(-1, 0.2, 0.097));
  EXPECT_FALSE(admitter.admits(-1, 1.0, 0.999));
}

TEST(TierShed, AdmitsByPriorityAboveTheThreshold) {
  std::vector<routing::Candidate> all(2);
  all[1].gauges = {.waiting = 1, .running = 2, .kv_usage = 0.0};
  all[1].inflight_requests = 3;
  EXPECT_TRUE((TierShed{.threshold = 6}).admits(-3, all));
  EXPECT_FALSE((TierShed{.threshold = 5}).admits(2, all));
  EXPECT_TRUE((TierShed{.threshold = 5}).admits(3, all));
  EXPECT_TRUE(admitted_below_saturation(-1, 0.99));
  EXPECT_FALSE(admitted_below_saturation(-1, 1.0));
}

TEST(PriorityCeilings, FallByRankOrByValue) {
  using testing::DoubleEq;
  using testing::ElementsAre;
  EXPECT_THAT(priority_ceilings({9, 1, 0}, 0.5, 1.0, false), ElementsAre(1.0, 0.75, 0.5));
  EXPECT_THAT(priority_ceilings({9, 1, -1}, 0.5, 1.0, true), ElementsAre(1.0, DoubleEq(0.6), 0.5));
  EXPECT_THAT(priority_ceilings({0}, 0.5, 1.0, false), ElementsAre(1.0));
}

}  // namespace
}  // namespace ridgeline::admission
