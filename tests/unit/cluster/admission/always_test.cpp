#include <gtest/gtest.h>

#include "cluster/admission/policies/policies.hpp"
#include "unit/cluster/admission/claims.hpp"

namespace ridgeline::admission {
namespace {

TEST(Always, AdmitsWhateverTheSaturation) {
  const auto policy = make_always({});
  EXPECT_FALSE(policy->needs_saturation());
  EXPECT_TRUE(test::admits(*policy, test::claim(0, 0, -5), 100.0));
}

}  // namespace
}  // namespace ridgeline::admission
