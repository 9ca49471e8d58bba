#include "cluster/admission/rate_limit.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/tenants.hpp"

namespace ridgeline::admission {
namespace {

core::SimTime second(std::int64_t count) {
  return core::SimTime::at(core::Duration::seconds(count));
}

class RateLimitsOf : public testing::Test {
 protected:
  bool take(std::int64_t at, std::int64_t tokens = 10, std::uint32_t tenant = 0) {
    return limits_.take(domain::TenantId(tenant), core::Tokens(tokens), second(at));
  }
  void count(RateWindow window) { limits_ = RateLimits(tenants_, window); }

  domain::Tenants tenants_ = domain::Tenants({{.name = "two", .requests_per_minute = 2},
                                              {.name = "hundred", .tokens_per_minute = 100},
                                              {.name = "free"}});
  RateLimits limits_ = RateLimits(tenants_, RateWindow::kFixed);
};

TEST_F(RateLimitsOf, AFixedMinuteStartsAnew) {
  EXPECT_TRUE(take(50));
  EXPECT_TRUE(take(59));
  EXPECT_FALSE(take(59));
  EXPECT_TRUE(take(60));
  EXPECT_TRUE(take(60));
  EXPECT_FALSE(take(119));
}

TEST_F(RateLimitsOf, ASlidingMinuteForgetsWhatIsAMinuteOld) {
  count(RateWindow::kSliding);
  EXPECT_TRUE(take(50));
  EXPECT_TRUE(take(59));
  EXPECT_FALSE(take(60));
  EXPECT_FALSE(take(109));
  EXPECT_TRUE(take(110));
  EXPECT_FALSE(take(118));
  EXPECT_TRUE(take(119));
}

TEST_F(RateLimitsOf, TokensAreThoseOfPromptsThatPass) {
  EXPECT_TRUE(take(0, 60, 1));
  EXPECT_FALSE(take(1, 41, 1));
  EXPECT_TRUE(take(2, 40, 1));
  EXPECT_FALSE(take(3, 1, 1));
  EXPECT_TRUE(take(3, 1'000'000, 2));
}

}  // namespace
}  // namespace ridgeline::admission
