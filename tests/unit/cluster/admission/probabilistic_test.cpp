#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/policies/policies.hpp"
#include "unit/cluster/admission/claims.hpp"

namespace ridgeline::admission {
namespace {

TEST(Probabilistic, ShedsTheShareThatTheSaturationAsksFor) {
  const auto policy = make_probabilistic({});
  constexpr std::uint32_t kRequests = 20'000;
  constexpr double kShare = 300.0 * 0.2 * 0.2 * 0.2 * 0.2 * 0.2;
  std::int64_t shed = 0;
  for (std::uint32_t id = 0; id < kRequests; ++id) {
    EXPECT_TRUE(test::admits(*policy, test::claim(id, 0, 0), 0.2));
    const Decision decision = test::decide(*policy, test::claim(id, 0, -1), 0.2);
    shed += decision.why == Reason::kShed ? 1 : 0;
  }
  const double deviation = std::sqrt(kShare * (1.0 - kShare) / kRequests);
  EXPECT_NEAR(static_cast<double>(shed) / kRequests, kShare, 4.0 * deviation);
}

}  // namespace
}  // namespace ridgeline::admission
