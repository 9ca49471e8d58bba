#include "cluster/admission/token_bucket.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include <gtest/gtest.h>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/policies/policies.hpp"
#include "core/math.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "unit/cluster/admission/claims.hpp"

namespace ridgeline::admission {
namespace {

TEST(TokenBucket, NeverGivesMoreThanItsCapacityAndItsRate) {
  TokenBucket bucket(100.0, 10.0);
  const auto second = [](std::int64_t count) {
    return core::SimTime::at(core::Duration::seconds(count));
  };
  EXPECT_TRUE(bucket.take(100.0, second(0)));
  EXPECT_FALSE(bucket.take(11.0, second(1)));
  EXPECT_TRUE(bucket.take(20.0, second(2)));
  EXPECT_TRUE(bucket.take(100.0, second(1000)));  // Full again, and no fuller.
  EXPECT_FALSE(bucket.take(1.0, second(1000)));
}

TEST(TokenBucket, IsAPolicyThatChargesPrompts) {
  const auto policy = make_token_bucket({.token_bucket_capacity = 150.0});
  EXPECT_TRUE(test::admits(*policy, test::claim(0)));
  EXPECT_EQ(test::decide(*policy, test::claim(1)).why, Reason::kTokenBucket);
  // A second refills a thousand tokens, up to the capacity.
  EXPECT_TRUE(test::admits(*policy, test::claim(2, 0, 0, 150), 0.0, test::ms(1000)));
}

/// In every window, of all that begin and end at a request: the most that was taken above the
/// refill since some earlier request is at most the capacity. A million requests with
/// RIDGELINE_CLOSED_FORMS_SEED.
TEST(ClosedForms, ATokenBucketIsWithinCapacityAndRateInEveryWindow) {
  constexpr double kCapacity = 5'000.0;
  constexpr double kRate = 900.0;
  const char* drawn = std::getenv("RIDGELINE_CLOSED_FORMS_SEED");
  const std::int64_t requests = drawn == nullptr ? 40'000 : 1'000'000;
  core::RngStream draws(drawn == nullptr ? 1 : std::strtoull(drawn, nullptr, 10), 0, "bucket");
  TokenBucket bucket(kCapacity, kRate);
  core::SimTime now;
  double taken = 0.0;
  double least = 0.0;  // Least that was taken before an instant, less the refill up to it.
  double most = 0.0;
  std::int64_t refused = 0;
  for (std::int64_t i = 0; i < requests; ++i) {
    now += core::Duration::saturating(core::Seconds(-core::log(draws.uniform())));
    const double refill = kRate * now.to_seconds();
    least = std::min(least, taken - refill);
    const double cost = 1.0 + static_cast<double>(draws.below(2'000));
    if (bucket.take(cost, now)) {
      taken += cost;
    } else {
      ++refused;
    }
    most = std::max(most, taken - refill - least);
  }
  EXPECT_LE(most, kCapacity * (1.0 + 1e-9));
  EXPECT_GT(most, 0.95 * kCapacity);  // The bound is reached, and it is one.
  EXPECT_GT(refused, requests / 20);
}

}  // namespace
}  // namespace ridgeline::admission
