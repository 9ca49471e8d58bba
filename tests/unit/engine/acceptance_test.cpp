#include "engine/acceptance.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "engine/options.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/probe_run.hpp"

namespace ridgeline::engine {
namespace {

EngineOptions with_curve(std::vector<double> curve) {
  EngineOptions options;
  options.draft_acceptance = std::move(curve);
  return options;
}

TEST(Acceptance, CertainDraftsAreAcceptedAndImpossibleOnesAreNot) {
  EXPECT_EQ(accepted_drafts(with_curve({}), core::RequestId(1), 0, 3), 0);
  EXPECT_EQ(accepted_drafts(with_curve({1.0}), core::RequestId(1), 0, 3), 3);
  EXPECT_EQ(accepted_drafts(with_curve({1.0, 0.0, 1.0}), core::RequestId(1), 0, 3), 1);
}

TEST(Acceptance, MeetsTheCurve) {
  // 1 + 0.8 + 0.8 * 0.5 + 0.8 * 0.5 * 0.5 = 2.4 tokens per verification.
  const auto options = with_curve({0.8, 0.5});
  EXPECT_DOUBLE_EQ(expected_tokens(options, 3), 2.4);
  std::int64_t tokens = 0;
  constexpr std::int64_t kDraws = 20'000;
  for (std::int64_t draw = 0; draw < kDraws; ++draw) {
    tokens += 1 + accepted_drafts(options, core::RequestId(7), draw, 3);
  }
  // Accepted drafts: variance below 1.5, so four standard errors are 4 * sqrt(1.5 / 20,000) =
  // 0.035.
  EXPECT_NEAR(static_cast<double>(tokens) / static_cast<double>(kDraws), 2.4, 0.035);
}

TEST(Acceptance, DrawsDependOnSeedRequestAndDraw) {
  auto options = with_curve({0.5});
  const auto draws = [&](std::uint32_t request) {
    std::vector<std::int64_t> counts;
    for (std::int64_t draw = 0; draw < 40; ++draw) {
      counts.push_back(accepted_drafts(options, core::RequestId(request), draw, 2));
    }
    return counts;
  };
  const auto first = draws(1);
  EXPECT_EQ(draws(1), first);
  EXPECT_NE(draws(2), first);
  options.acceptance_seed = 1;
  EXPECT_NE(draws(1), first);
}

TEST(Acceptance, ShortensARun) {
  auto options = test::tiny_options("0.15");
  options.num_speculative_tokens = 3;
  options.draft_acceptance = {1.0};
  options.log_steps = true;
  // 9 tokens: one comes of the prompt, then 4 and 4 of two verifications of 4 tokens each.
  const auto run = test::run_engine(options,
                                    test::LinearModel(),
                                    HostTime{.per_step = {}, .per_sequence = {}},
                                    {test::tiny_request(0, 8, 9)},
                                    test::Twin::kReference);
  ASSERT_EQ(run.sink.steps.size(), 3U);
  EXPECT_EQ(run.sink.steps[1].prefill_tokens, core::Tokens(4));
  EXPECT_EQ(run.sink.steps[1].num_decodes, 0);
  ASSERT_EQ(run.sink.requests.size(), 1U);
  EXPECT_EQ(run.sink.requests[0].output_tokens, core::Tokens(9));
}

TEST(PipelineDepth, MoreStepsInFlightServeMoreRequests) {
  auto options = test::tiny_options("0.15");
  options.max_num_batched_tokens = core::Tokens(8);
  options.log_steps = true;
  options.pipeline_depth = 2;
  // Two prompts of 8 fill two steps, both in flight at once; each decode then has to wait for its
  // own step, so the two requests take turns: 2 + 2 * 2 steps of one request each.
  auto second = test::tiny_request(1, 8, 3);
  second.arrival = {};
  const auto run = test::run_engine(options,
                                    test::LinearModel(),
                                    HostTime{.per_step = {}, .per_sequence = {}},
                                    {test::tiny_request(0, 8, 3), second},
                                    test::Twin::kReference);
  ASSERT_EQ(run.sink.steps.size(), 6U);
  for (const auto& step : run.sink.steps) {
    EXPECT_EQ(step.num_decodes + step.num_prefills, 1);
  }
}

}  // namespace
}  // namespace ridgeline::engine
