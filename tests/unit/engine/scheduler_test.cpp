// The scheduler's rules on cases small enough to do by hand, for both twins. A step is written as
// the tokens it processes: decodes + prefill tokens.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"

namespace ridgeline {
namespace {

using test::Twin;
using testing::ElementsAre;

const engine::HostTime kFreeHost{.per_step = {}, .per_sequence = {}};

engine::EngineOptions small_options() {
  engine::EngineOptions options;
  options.block_size = core::Tokens(4);
  options.num_gpu_blocks = core::Blocks(64);
  options.max_num_seqs = 8;
  options.max_num_batched_tokens = core::Tokens(16);
  options.max_model_len = core::Tokens(64);
  options.enable_prefix_caching = false;
  options.async_scheduling = false;
  options.log_steps = true;
  return options;
}

domain::Request request(std::uint32_t id, std::int64_t input, std::int64_t output) {
  domain::Request request;
  request.id = core::RequestId(id);
  request.prompt_tokens = core::Tokens(input);
  request.output_tokens = core::Tokens(output);
  request.max_tokens = request.output_tokens;
  return request;
}

std::vector<std::string> steps_of(const test::EngineRun& run) {
  std::vector<std::string> steps;
  for (const auto& step : run.sink.steps) {
    steps.push_back(std::to_string(step.num_decodes) + "+" +
                    std::to_string(step.prefill_tokens.value()));
  }
  return steps;
}

class SchedulerRules : public testing::TestWithParam<Twin> {
 protected:
  static test::EngineRun run(const engine::EngineOptions& options,
                             const std::vector<domain::Request>& requests) {
    return test::run_engine(options, test::LinearModel(), kFreeHost, requests, GetParam());
  }
};

TEST_P(SchedulerRules, PromptsAreCutAtTheBudgetAndDecodesGoFirst) {
  // 16 tokens a step: A's 10 and 6 of B's 10; then A decodes, B's last 4 and 11 of C's 20; then 2
  // decodes, 9. A (4 tokens) ends with the fourth step, B (3) too; C goes on alone for its second
  // token.
  const auto result =
      run(small_options(), {request(0, 10, 4), request(1, 10, 3), request(2, 20, 2)});
  EXPECT_THAT(steps_of(result), ElementsAre("0+16", "1+15", "2+9", "3+0"));
}

TEST_P(SchedulerRules, LongPromptsAreHeldToTheThreshold) {
  auto options = small_options();
  options.long_prefill_token_threshold = core::Tokens(6);
  // 6 + 6 of A and B and 4 of C's 5 fill the first step; then 6 + 6 and C's last token; then 6, 6
  // and C decodes; then 2, 2 and C decodes its last.
  const auto result = run(options, {request(0, 20, 1), request(1, 20, 1), request(2, 5, 3)});
  EXPECT_THAT(steps_of(result), ElementsAre("0+16", "0+13", "1+12", "1+4"));
}

TEST_P(SchedulerRules, MaxNumScheduledTokensIsTheBudgetOfAStep) {
  auto options = small_options();
  options.max_num_scheduled_tokens = core::Tokens(6);
  // 6 of A's 10; its last 4 and 2 of B's 10, and A ends; 6 of B; its last 2.
  const auto result = run(options, {request(0, 10, 1), request(1, 10, 1)});
  EXPECT_THAT(steps_of(result), ElementsAre("0+6", "0+6", "0+6", "0+2"));
}

TEST_P(SchedulerRules, NoMoreThanMaxNumSeqsRun) {
  auto options = small_options();
  options.max_num_seqs = 2;
  const auto result = run(options, {request(0, 5, 2), request(1, 5, 3), request(2, 5, 1)});
  // A and B; both decode; A has ended, so C joins B.
  EXPECT_THAT(steps_of(result), ElementsAre("0+10", "2+0", "1+5"));
}

TEST_P(SchedulerRules, WithoutChunkingAPromptWaitsForAStepThatTakesItWhole) {
  auto options = small_options();
  options.enable_chunked_prefill = false;
  const auto result = run(options, {request(0, 10, 1), request(1, 10, 1)});
  EXPECT_THAT(steps_of(result), ElementsAre("0+10", "0+10"));
}

TEST_P(SchedulerRules, TheYoungestGivesWayWhenBlocksRunOut) {
  auto options = small_options();
  options.num_gpu_blocks = core::Blocks(1 + 5);
  // Two prompts of 8 tokens hold two blocks each, one is free. At the second step both need a third
  // block: A takes it, B gives way and waits. A's tokens 9 to 12 fill that block; for its 13th it
  // takes a fourth, and ends after 6 tokens. B then recomputes its 8 prompt tokens and the one it
  // had generated, and decodes on.
  const auto result = run(options, {request(0, 8, 6), request(1, 8, 3)});
  EXPECT_THAT(steps_of(result),
              ElementsAre("0+16", "1+0", "1+0", "1+0", "1+0", "1+0", "0+9", "1+0"));
  EXPECT_EQ(result.totals.preemptions, 1);
  EXPECT_EQ(result.sink.requests.at(1).preemptions, 1);
  EXPECT_EQ(result.sink.requests.at(1).output_tokens, core::Tokens(3));
}

TEST_P(SchedulerRules, APreemptedRequestFindsItsOwnBlocks) {
  auto options = small_options();
  options.enable_prefix_caching = true;
  options.num_gpu_blocks = core::Blocks(1 + 5);
  // As before, but B's two full blocks stay findable. A took one of them (its fourth) from the head
  // of the free list, where B's deepest block stood first: the one with tokens 0 to 3 is left, and
  // 9 - 4 are recomputed.
  const auto result = run(options, {request(0, 8, 6), request(1, 8, 3)});
  EXPECT_THAT(steps_of(result),
              ElementsAre("0+16", "1+0", "1+0", "1+0", "1+0", "1+0", "0+5", "1+0"));
}

TEST_P(SchedulerRules, AFullyCachedPromptRecomputesItsLastBlock) {
  auto options = small_options();
  options.enable_prefix_caching = true;
  auto first = request(0, 16, 1);
  auto second = request(1, 16, 1);
  first.prompt = {{1, core::Tokens(16)}};
  second.prompt = first.prompt;
  second.arrival = core::SimTime::at(core::Duration::seconds(1));
  // All four blocks of the second prompt are cached; only three are used, for the logits' sake.
  const auto result = run(options, {first, second});
  EXPECT_THAT(steps_of(result), ElementsAre("0+16", "0+4"));
  EXPECT_EQ(result.sink.requests.at(1).cached_tokens, core::Tokens(12));
  EXPECT_EQ(result.totals.prefix_queries, core::Tokens(32));
  EXPECT_EQ(result.totals.prefix_hits, core::Tokens(12));
}

TEST_P(SchedulerRules, EqualPromptsInOneStepShare) {
  auto options = small_options();
  options.enable_prefix_caching = true;
  options.max_num_batched_tokens = core::Tokens(64);
  auto first = request(0, 18, 1);
  auto second = request(1, 18, 1);
  first.prompt = {{1, core::Tokens(18)}};
  second.prompt = first.prompt;
  // Blocks are findable as soon as they are handed out: the second computes 2 of its 18 tokens.
  EXPECT_THAT(steps_of(run(options, {first, second})), ElementsAre("0+20"));
}

TEST_P(SchedulerRules, NothingBehindAHeadThatDoesNotFitIsTried) {
  auto options = small_options();
  options.num_gpu_blocks = core::Blocks(1 + 6);
  options.profile = *engine::find_profile("vllm@0.20");
  // A holds 3 of 6 blocks. The head needs 5 and must fit whole; the short one behind it would fit
  // and waits.
  const auto result = run(options, {request(0, 12, 2), request(1, 20, 1), request(2, 4, 1)});
  EXPECT_THAT(steps_of(result), ElementsAre("0+12", "1+0", "0+16", "0+8"));
}

TEST_P(SchedulerRules, AnOlderProfileAdmitsWhatFitsNow) {
  auto options = small_options();
  options.num_gpu_blocks = core::Blocks(1 + 6);
  // In 0.15, 4 tokens of the head fit the first step (one block); 15 more would need
  // four blocks, and one is free once A has taken its fourth: the head gives way until A has ended.
  const auto result = run(options, {request(0, 12, 2), request(1, 20, 1), request(2, 4, 1)});
  EXPECT_THAT(steps_of(result), ElementsAre("0+16", "1+0", "0+16", "0+8"));
  EXPECT_EQ(result.totals.preemptions, 1);
}

TEST_P(SchedulerRules, AsyncWastesAStepOnAnUnforeseenEnd) {
  auto options = small_options();
  options.async_scheduling = true;
  auto stops_early = request(0, 4, 2);
  stops_early.max_tokens = core::Tokens(10);
  // The third step was formed before the second one's token, the last, was known.
  EXPECT_THAT(steps_of(run(options, {stops_early})), ElementsAre("0+4", "1+0", "1+0"));
  // A limit that the scheduler knows costs no step.
  EXPECT_THAT(steps_of(run(options, {request(0, 4, 2)})), ElementsAre("0+4", "1+0"));
  options.profile.async_skips_last_token = false;
  EXPECT_THAT(steps_of(run(options, {request(0, 4, 2)})), ElementsAre("0+4", "1+0", "1+0"));
}

TEST_P(SchedulerRules, AsyncServesAnArrivalInTheStepAfterTheNext) {
  auto options = small_options();
  options.async_scheduling = true;
  auto late = request(1, 4, 1);
  // Steps: 0 to 1040 us (A's 4 tokens), then 1010 us each. At 1500 us the second step runs and the
  // third was formed at 1040 us: the fourth, formed at 2050 us and begun at 3060 us, is the first
  // that can take it.
  late.arrival = core::SimTime::at(core::Duration::microseconds(1500));
  const auto result = run(options, {request(0, 4, 6), late});
  EXPECT_THAT(steps_of(result), ElementsAre("0+4", "1+0", "1+0", "1+4", "1+0", "1+0"));
  const auto& record = result.sink.requests.at(0);
  EXPECT_EQ(record.id, core::RequestId(1));
  EXPECT_EQ(record.first_scheduled.since_start(), core::Duration::microseconds(2050));
  EXPECT_EQ(record.first_token.since_start(), core::Duration::microseconds(3060 + 1050));
}

TEST_P(SchedulerRules, GenerationStopsAtMaxModelLen) {
  auto options = small_options();
  options.max_model_len = core::Tokens(16);
  const auto result = run(options, {request(0, 10, 100), request(1, 15, 100), request(2, 16, 5)});
  std::vector<std::pair<std::int64_t, domain::Outcome>> ends;
  for (const auto& record : result.sink.requests) {
    ends.emplace_back(record.output_tokens.value(), record.outcome);
  }
  // The third leaves no room for a token and is refused on arrival.
  EXPECT_THAT(ends,
              ElementsAre(std::pair(0, domain::Outcome::kRejected),
                          std::pair(1, domain::Outcome::kLengthCapped),
                          std::pair(6, domain::Outcome::kLengthCapped)));
}

TEST_P(SchedulerRules, WhatCanNeverFitIsRefused) {
  auto options = small_options();
  options.num_gpu_blocks = core::Blocks(1 + 3);
  // 8 + 5 tokens need four blocks of 4, and there are three.
  const auto result = run(options, {request(0, 8, 5), request(1, 8, 4)});
  EXPECT_EQ(result.sink.requests.at(0).outcome, domain::Outcome::kRejected);
  EXPECT_EQ(result.sink.requests.at(1).outcome, domain::Outcome::kFinished);
}

INSTANTIATE_TEST_SUITE_P(Twins,
                         SchedulerRules,
                         testing::Values(Twin::kReference, Twin::kStepping, Twin::kJumping));

/// What policies see has no field for the true output length, and none from which to tell it.
template <class T>
concept KnowsOutputLength = requires(const T& request) { request.output_tokens; };
static_assert(KnowsOutputLength<domain::Request>);
static_assert(!KnowsOutputLength<domain::RequestView>);

}  // namespace
}  // namespace ridgeline
