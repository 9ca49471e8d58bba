#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/admission/flow/fairness.hpp"
#include "cluster/admission/flow/fairness_policies.hpp"
#include "domain/tenants.hpp"
#include "unit/cluster/admission/claims.hpp"

namespace ridgeline::admission {
namespace {

TEST(GlobalStrict, ServesTheFirstOfAllHeads) {
  const auto fairness = make_global_strict();
  std::vector<FlowHead> heads(3);
  heads[0].key = {.instant = test::ms(2), .sequence = 0};
  heads[1].key = {.instant = test::ms(1), .sequence = 2};
  heads[2].key = {.instant = test::ms(1), .sequence = 1};
  EXPECT_EQ(fairness->choose(heads, {}), 2);
}

TEST(RoundRobin, ServesTheFlowsInTurn) {
  const auto fairness = make_round_robin_flows();
  std::vector<FlowHead> heads(2);
  heads[0].flow = domain::TenantId(1);
  heads[1].flow = domain::TenantId(4);
  for (const unsigned expected : {0U, 1U, 0U, 1U}) {
    const std::size_t chosen = fairness->choose(heads, {});
    EXPECT_EQ(chosen, expected);
    fairness->on_dispatch(heads[chosen], {});
  }
}

}  // namespace
}  // namespace ridgeline::admission
