#include <gtest/gtest.h>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/policies/policies.hpp"
#include "unit/cluster/admission/claims.hpp"

namespace ridgeline::admission {
namespace {

TEST(Priority, RejectsBelowZeroFromSaturationOneOn) {
  const auto policy = make_priority({});
  EXPECT_TRUE(policy->needs_saturation());
  EXPECT_TRUE(test::admits(*policy, test::claim(0, 0, -1), 0.999));
  EXPECT_TRUE(test::admits(*policy, test::claim(0, 0, 0), 7.0));
  const Decision refused = test::decide(*policy, test::claim(0, 0, -1), 1.0);
  EXPECT_EQ(refused.verdict, Decision::Verdict::kReject);
  EXPECT_EQ(refused.why, Reason::kSaturated);
}

}  // namespace
}  // namespace ridgeline::admission
