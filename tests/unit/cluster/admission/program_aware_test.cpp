#include <vector>

#include <gtest/gtest.h>

#include "cluster/admission/flow/fairness.hpp"
#include "cluster/admission/flow/fairness_policies.hpp"
#include "core/units.hpp"
#include "domain/tenants.hpp"
#include "unit/cluster/admission/claims.hpp"

namespace ridgeline::admission {
namespace {

std::vector<FlowHead> two_heads() {
  std::vector<FlowHead> heads(2);
  heads[0].flow = domain::TenantId(0);
  heads[1].flow = domain::TenantId(1);
  heads[0].prompt_tokens = heads[1].prompt_tokens = core::Tokens(100);
  return heads;
}

TEST(ProgramAware, PrefersLittleServiceOverALongWait) {
  const auto fairness = make_program_aware();
  const auto heads = two_heads();
  fairness->on_dispatch(heads[0], test::ms(0));
  EXPECT_EQ(fairness->choose(heads, test::ms(10)), 1);
  // 100 against 100 + 2 x 40.
  fairness->on_dispatch(heads[1], test::ms(0));
  fairness->on_output(domain::TenantId(1), 1.0, core::Tokens(40), test::ms(0));
  EXPECT_EQ(fairness->choose(heads, test::ms(10)), 0);
}

TEST(ProgramAware, ALongWaitCountsAFifth) {
  const auto fairness = make_program_aware();
  auto heads = two_heads();
  heads[1].since = test::ms(90);
  EXPECT_EQ(fairness->choose(heads, test::ms(100)), 0);
  // 100 against 90 tokens: 0.8 x 0.1 of service do not outweigh 0.2 x 0.9 of waiting.
  fairness->on_dispatch(heads[0], test::ms(0));
  heads[1].prompt_tokens = core::Tokens(90);
  fairness->on_dispatch(heads[1], test::ms(0));
  EXPECT_EQ(fairness->choose(heads, test::ms(100)), 0);
}

TEST(ProgramAware, ServiceOfAMinuteAgoCountsHalf) {
  const auto fairness = make_program_aware();
  const auto heads = two_heads();
  fairness->on_dispatch(heads[0], test::ms(0));
  auto other = heads[1];
  other.prompt_tokens = core::Tokens(51);
  fairness->on_dispatch(other, test::ms(60'000));
  EXPECT_EQ(fairness->choose(heads, test::ms(60'000)), 0);
}

}  // namespace
}  // namespace ridgeline::admission
