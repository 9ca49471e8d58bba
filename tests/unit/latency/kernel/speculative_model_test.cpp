#include "latency/kernel/speculative_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/draft_level.hpp"
#include "domain/step.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/step_time_model.hpp"
#include "support/linear_model.hpp"
#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::latency::kernel {
namespace {

using core::Duration;
using fixtures::chunk;
using fixtures::Step;

/// A verification of k drafts after `past` tokens.
domain::PrefillChunk verification(std::int64_t past, std::int64_t drafts) {
  domain::PrefillChunk of = chunk(past, drafts + 1);
  of.drafts = drafts;
  return of;
}

std::unique_ptr<StepTimeModel> linear(std::int64_t step_us, std::int64_t context_us) {
  return std::make_unique<test::LinearModel>(
      test::LinearModel::Costs{.step = Duration::microseconds(step_us),
                               .per_token = Duration::microseconds(10),
                               .per_context = Duration::microseconds(context_us)});
}

TEST(SpeculativeModel, AVerificationAndThePassesOfTheDraftByHand) {
  // Target: 1000 us a step and 10 a token. Draft: 100 us, 10 a token, 1 a token of context.
  const SpeculativeModel model(linear(1000, 0), linear(100, 1), 3, {.code = "W", .message = "m"});
  const Step step{
      .num_decodes = 0, .context = 0, .chunks = {verification(50, 3), verification(70, 3)}};
  // Target: 1000 + 8 tokens * 10. First pass of the draft: 100 + 8 * 10 + (50 + 70). Second: both
  // sequences, 54 and 74 long: 100 + 2 * 10 + 128; third: 100 + 20 + 130.
  EXPECT_EQ(model.predict(step.batch()).gpu(), Duration::microseconds(1080 + 300 + 248 + 250));
  // An unfinished prompt is read by the draft too, and proposes nothing.
  const Step prompt{.num_decodes = 0, .context = 0, .chunks = {chunk(0, 40, false)}};
  EXPECT_EQ(model.predict(prompt.batch()).gpu(), Duration::microseconds(1400 + 500));
}

TEST(SpeculativeModel, FewerDraftsOfLargerStepsTakeFewerPasses) {
  const auto gpu_time = [](std::vector<domain::DraftLevel> levels) {
    domain::StepBatch batch;
    batch.num_decodes = 2;
    batch.decode_context = core::Tokens(20);
    return SpeculativeModel(
               linear(1000, 0), linear(100, 0), 3, {.code = "W", .message = "m"}, std::move(levels))
        .predict(batch)
        .gpu();
  };
  const auto draft =
      gpu_time({{.most_requests = 8, .drafts = 1}}) - gpu_time({{.most_requests = 8, .drafts = 0}});
  // A pass per draft.
  EXPECT_EQ(gpu_time({{.most_requests = 1, .drafts = 1}, {.most_requests = 8, .drafts = 2}}),
            gpu_time({{.most_requests = 8, .drafts = 0}}) + draft + draft);
  EXPECT_EQ(gpu_time({}), gpu_time({{.most_requests = 8, .drafts = 3}}));
}

TEST(SpeculativeModel, NgramsAddNothing) {
  const SpeculativeModel model(linear(1000, 0), nullptr, 5, {.code = "W", .message = "m"});
  const Step step{.num_decodes = 0, .context = 0, .chunks = {verification(50, 5)}};
  EXPECT_EQ(model.predict(step.batch()).gpu(), Duration::microseconds(1060));
  ASSERT_EQ(model.notes().size(), 1U);
}

TEST(SpeculativeModel, EveryDraftIsSampledAndAWholeGraphReplayed) {
  // k + 1 = 4 rows of the head for each of 8 sequences: as many as 32 decodes have, which are 32
  // tokens of the step as well; attention alone differs, and no graph is cut.
  const fixtures::Subject subject(fixtures::mistral_nemo_12b(), fixtures::gpu("h100"), 1);
  Step verify{.num_decodes = 0, .context = 0, .chunks = {}};
  for (int i = 0; i < 8; ++i) {
    verify.chunks.push_back(verification(1000, 3));
  }
  const Step decode = fixtures::decodes(32, 250);
  const auto rows = [&](const Step& step) {
    const Explanation explanation = subject.model().explain(step.batch());
    core::Seconds sum;
    for (const OperatorTime& part : explanation.parts) {
      sum += part.name == "attention" ? core::Seconds() : part.time;
    }
    return sum.value();
  };
  EXPECT_NEAR(rows(verify), rows(decode), 1e-12);
  EXPECT_FALSE(subject.model().is_piecewise(verify.batch()));
  verify.chunks.push_back(chunk(0, 100));
  EXPECT_TRUE(subject.model().is_piecewise(verify.batch()));
}

TEST(SpeculativeModel, PartsOfDraftsStandBesideTheTargets) {
  const fixtures::Subject target(fixtures::mistral_nemo_12b(), fixtures::gpu("h100"), 1);
  const fixtures::Subject draft(fixtures::qwen25_7b(), fixtures::gpu("h100"), 1);
  const SpeculativeModel model(std::make_unique<KernelModel>(target.inputs(), first_constants()),
                               std::make_unique<KernelModel>(draft.inputs(), first_constants()),
                               4,
                               {.code = "W", .message = "m"});
  const Step step{.num_decodes = 3, .context = 3000, .chunks = {verification(50, 4), chunk(0, 99)}};
  const Explanation explanation = model.explain(step.batch());
  EXPECT_LT(std::abs(explanation.rounding.value()), 1e-8);
  EXPECT_EQ(explanation.total, model.predict(step.batch()));
  const auto head = std::find_if(explanation.parts.begin(),
                                 explanation.parts.end(),
                                 [](const auto& part) { return part.name == "draft_lm_head"; });
  ASSERT_NE(head, explanation.parts.end());
  EXPECT_EQ(head->calls, 4);  // once a pass
}

}  // namespace
}  // namespace ridgeline::latency::kernel
