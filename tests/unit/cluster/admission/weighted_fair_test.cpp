#include <gtest/gtest.h>

#include "cluster/admission/flow/fairness_policies.hpp"
#include "unit/cluster/admission/backlog.hpp"

namespace ridgeline::admission {
namespace {

/// Two tenants that always wait differ by at most a longest prompt of each, over their shares
/// (Goyal and others 1996, theorem 1).
TEST(ClosedForms, WeightedFairKeepsItsBound) {
  const auto setup = test::sized(
      {.fairness = make_weighted_fair, .shares = {3.0, 1.0}, .most_input = {2'000, 300}});
  const auto service = test::serve(setup);
  EXPECT_LE(service.widest_gap, 2'000.0 / 3.0 + 300.0);
  EXPECT_NEAR(service.served[0] / service.served[1], 1.0, 0.01);  // Each over its share.
  auto one_each = setup;
  one_each.fairness = make_round_robin_flows;
  EXPECT_GT(test::serve(one_each).widest_gap, 100'000.0);
}

}  // namespace
}  // namespace ridgeline::admission
