#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/admission/flow/fairness.hpp"
#include "cluster/admission/flow/fairness_policies.hpp"
#include "core/units.hpp"
#include "domain/tenants.hpp"
#include "unit/cluster/admission/backlog.hpp"

namespace ridgeline::admission {
namespace {

FlowHead head(std::uint32_t flow, std::int64_t prompt = 100) {
  FlowHead one;
  one.flow = domain::TenantId(flow);
  one.prompt_tokens = core::Tokens(prompt);
  return one;
}

/// Two tenants that always wait are served alike up to twice the larger of the longest prompt and
/// of the outputs in flight, each with its weight (Sheng and others, OSDI 2024, theorem 4.4).
TEST(ClosedForms, VirtualTokensKeepTheirBound) {
  const auto setup = test::sized({.fairness = make_virtual_tokens,
                                  .most_input = {2'000, 300},
                                  .most_output = {100, 800},
                                  .output_weight = 2.0});
  const auto service = test::serve(setup);
  const double bound = 2.0 * std::max(2'000.0, 2.0 * 800.0 * static_cast<double>(setup.seats));
  EXPECT_LE(service.widest_gap, bound);
  // The first request of all flows does not keep it.
  auto first_come = setup;
  first_come.fairness = make_global_strict;
  EXPECT_GT(test::serve(first_come).widest_gap, 10.0 * bound);
}

TEST(VirtualTokens, AFlowThatComesBackGetsNoCreditForItsAbsence) {
  const auto fairness = make_virtual_tokens();
  const std::vector<FlowHead> both = {head(0), head(1)};
  fairness->on_backlogged(head(0), {});
  for (int i = 0; i < 10; ++i) {
    fairness->on_dispatch(head(0), {});
  }
  // Lifted to 1000, the counter of the only one that waits; the first of equals is served.
  fairness->on_backlogged(head(1), std::vector<FlowHead>{head(0)});
  EXPECT_EQ(fairness->choose(both, {}), 0);
  fairness->on_dispatch(head(0), {});
  EXPECT_EQ(fairness->choose(both, {}), 1);
  fairness->on_dispatch(head(1, 50), {});
  EXPECT_EQ(fairness->choose(both, {}), 1);
  fairness->on_output(domain::TenantId(1), 1.0, core::Tokens(30), {});
  EXPECT_EQ(fairness->choose(both, {}), 0);
}

TEST(VirtualTokens, AFlowIsLiftedToTheLastThatWaited) {
  const auto fairness = make_virtual_tokens();
  fairness->on_backlogged(head(0), {});
  fairness->on_dispatch(head(0, 500), {});
  // None waits: lifted to 500, so that after 100 more the other is first.
  fairness->on_backlogged(head(1), {});
  fairness->on_dispatch(head(1), {});
  fairness->on_backlogged(head(0), std::vector<FlowHead>{head(1)});
  EXPECT_EQ(fairness->choose(std::vector<FlowHead>{head(0), head(1)}, {}), 0);
}

}  // namespace
}  // namespace ridgeline::admission
