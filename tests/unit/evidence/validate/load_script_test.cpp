#include "evidence/validate/load_script.hpp"

#include <atomic>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/measured_run.hpp"

namespace ridgeline::evidence::validate {
namespace {

TokenCounts tokens(double count) {
  return {.law = TokenCounts::Law::kFixed, .mean = count, .lowest = count, .highest = count};
}

StageLoad load(StageLoad::Kind kind, std::int64_t requests, double seconds) {
  StageLoad stage;
  stage.kind = kind;
  stage.requests = requests;
  stage.duration_s = seconds;
  return stage;
}

MeasuredRun run_of(std::vector<StageLoad> stages) {
  MeasuredRun run;
  run.stages = std::move(stages);
  run.parts = {{.evidence = 0, .first = 0, .last = run.stages.size()}};
  return run;
}

Evidence plain_facts() {
  Evidence facts;
  facts.input = tokens(100);
  facts.output = tokens(10);
  return facts;
}

core::SimTime at_seconds(std::int64_t seconds) {
  return core::SimTime::at(core::Duration::seconds(seconds));
}

TEST(LoadScript, LengthsFollowTheirLaws) {
  Evidence facts = plain_facts();
  facts.input = {.law = TokenCounts::Law::kLogNormal,
                 .mean = 100.0,
                 .std = 0.5,
                 .lowest = 1.0,
                 .highest = 1000.0};
  // A quarter between 0 and 10, the others between 20 and 30.
  facts.output = {.law = TokenCounts::Law::kHistogram, .lowest = 0.0, .highest = 30.0};
  facts.output.up_to = {0.25, 0.25, 1.0};
  constexpr int kRequests = 4000;
  LoadScript script(run_of({load(StageLoad::Kind::kAtOnce, kRequests, 0.0)}), facts, 7);
  double prompts = 0.0;
  int few = 0;
  for (int i = 0; i < kRequests; ++i) {
    const domain::Request request = script.pop();
    const std::int64_t answer = request.output_tokens.value();
    prompts += static_cast<double>(request.prompt_tokens.value());
    few += answer <= 10 ? 1 : 0;
    EXPECT_TRUE(answer >= 1 && (answer <= 10 || (answer >= 20 && answer <= 30))) << answer;
  }
  EXPECT_NEAR(prompts / kRequests, 100.0, 3.0);
  EXPECT_NEAR(few, kRequests / 4, 120);
}

// 1e7 s are past the range of simulated time; so is a stage that follows one of 9e6 s after 9e6 s.
TEST(LoadScript, WhatLiesPastSimulatedTimeIsNeverSent) {
  StageLoad recorded = load(StageLoad::Kind::kRecorded, 2, 1.0);
  recorded.rows = {{.arrival_s = 0.0, .input_tokens = 1, .output_tokens = 1},
                   {.arrival_s = 1e7, .input_tokens = 1, .output_tokens = 1}};
  LoadScript script(run_of({recorded}), plain_facts(), 7);
  EXPECT_EQ(script.pop().arrival, core::SimTime());
  EXPECT_EQ(script.next_arrival(), core::SimTime::never());
  LoadScript stages(run_of({load(StageLoad::Kind::kEven, 1, 9e6),
                            load(StageLoad::Kind::kEven, 1, 9e6),
                            load(StageLoad::Kind::kEven, 1, 9e6)}),
                    plain_facts(),
                    7);
  EXPECT_EQ(stages.pop().arrival, core::SimTime());
  EXPECT_EQ(stages.pop().arrival, at_seconds(9'000'000));
  EXPECT_EQ(stages.next_arrival(), core::SimTime::never());
}

TEST(LoadScript, RandomStagesFollowEachOtherOnTheClock) {
  const auto run =
      run_of({load(StageLoad::Kind::kRandom, 40, 10.0), load(StageLoad::Kind::kRandom, 20, 5.0)});
  LoadScript script(run, plain_facts(), 7);
  EXPECT_FALSE(script.is_closed_loop());
  EXPECT_EQ(script.size(), 60);
  core::SimTime last;
  for (int i = 0; i < 60; ++i) {
    const auto next = script.next_arrival();
    ASSERT_TRUE(next.has_value());
    EXPECT_LE(last, *next);
    last = *next;
    const auto request = script.pop();
    EXPECT_EQ(request.arrival, *next);
    EXPECT_EQ(script.stage_of(request.id), i < 40 ? 0U : 1U);
    // All of the first stage within its ten seconds, all of the second after.
    EXPECT_EQ(*next < at_seconds(10), i < 40);
    EXPECT_LT(*next, at_seconds(15));
  }
  EXPECT_FALSE(script.next_arrival().has_value());
}

TEST(LoadScript, TheSeedDrawsTheHistory) {
  const auto run = run_of({load(StageLoad::Kind::kRandom, 5, 10.0)});
  LoadScript one(run, plain_facts(), 1);
  LoadScript same(run, plain_facts(), 1);
  LoadScript other(run, plain_facts(), 2);
  EXPECT_EQ(one.next_arrival(), same.next_arrival());
  EXPECT_NE(one.next_arrival(), other.next_arrival());
}

TEST(LoadScript, ClosedStagesKeepSoManyInFlight) {
  auto stage = load(StageLoad::Kind::kClosed, 3, 0.0);
  stage.concurrency = 2;
  LoadScript script(run_of({stage}), plain_facts(), 0);
  EXPECT_TRUE(script.is_closed_loop());
  EXPECT_EQ(script.next_arrival(), at_seconds(0));
  const auto first = script.pop();
  EXPECT_EQ(script.next_arrival(), at_seconds(0));
  static_cast<void>(script.pop());
  EXPECT_FALSE(script.next_arrival().has_value());  // both clients wait
  script.on_completion(first.id, at_seconds(4));
  EXPECT_EQ(script.next_arrival(), at_seconds(4));
  static_cast<void>(script.pop());
  EXPECT_FALSE(script.next_arrival().has_value());
}

TEST(LoadScript, SaysWhenAllIsSent) {
  std::atomic<bool> all_sent = false;
  const auto run = run_of({load(StageLoad::Kind::kAtOnce, 2, 0.0)});
  LoadScript script(run, plain_facts(), 0, 1, &all_sent);
  static_cast<void>(script.pop());
  EXPECT_FALSE(all_sent);
  static_cast<void>(script.pop());
  EXPECT_TRUE(all_sent);
}

TEST(LoadScript, TheServerDrainsBeforeRecordedStages) {
  auto recorded = load(StageLoad::Kind::kRecorded, 1, 0.0);
  recorded.rows = {{.arrival_s = 2.0, .input_tokens = 55, .output_tokens = 5}};
  LoadScript script(run_of({load(StageLoad::Kind::kAtOnce, 2, 0.0), recorded}), plain_facts(), 0);
  EXPECT_TRUE(script.is_closed_loop());
  const auto first = script.pop();
  const auto second = script.pop();
  EXPECT_FALSE(script.next_arrival().has_value());
  script.on_completion(second.id, at_seconds(3));
  EXPECT_FALSE(script.next_arrival().has_value());
  script.on_completion(first.id, at_seconds(7));
  // A second of rest, then the row's own two seconds.
  EXPECT_EQ(script.next_arrival(), at_seconds(10));
  EXPECT_EQ(script.pop().prompt_tokens.value(), 55);
}

TEST(LoadScript, PromptsRepeatAndShareTheirGroup) {
  Evidence facts = plain_facts();
  facts.sharing = {.distinct_prompts = 4, .prompts_per_group = 2, .system_share = 0.3};
  LoadScript script(run_of({load(StageLoad::Kind::kAtOnce, 5, 0.0)}), facts, 0);
  std::vector<domain::Request> requests;
  for (int i = 0; i < 5; ++i) {
    requests.push_back(script.pop());
  }
  ASSERT_EQ(requests[0].prompt.size(), 2U);
  EXPECT_EQ(requests[0].prompt[0].length.value(), 30);  // 0.3 of 100 tokens
  EXPECT_EQ(requests[0].prompt[1].length.value(), 70);
  EXPECT_EQ(requests[0].prompt[0], requests[1].prompt[0]);  // one group of two
  EXPECT_NE(requests[0].prompt[1], requests[1].prompt[1]);
  EXPECT_NE(requests[1].prompt[0], requests[2].prompt[0]);
  EXPECT_EQ(requests[0].prompt, requests[4].prompt);  // 4 mod 4
}

TEST(LoadScript, ASharedPrefixIsPartOfThePrompt) {
  Evidence facts = plain_facts();
  facts.sharing.shared_prefix = 64;
  LoadScript script(run_of({load(StageLoad::Kind::kAtOnce, 2, 0.0)}), facts, 0);
  const auto request = script.pop();
  ASSERT_EQ(request.prompt.size(), 1U);
  EXPECT_EQ(request.prompt[0].length.value(), 64);
  EXPECT_EQ(request.prompt_tokens.value(), 100);
  EXPECT_EQ(request.prompt, script.pop().prompt);
}

// The first of two ranks has every other request, as long as in the whole, and half of the clients.
TEST(LoadScript, OneRankHasItsPartOfTheRequests) {
  StageLoad recorded = load(StageLoad::Kind::kRecorded, 5, 0.0);
  for (std::int64_t i = 0; i < 5; ++i) {
    recorded.rows.push_back(
        {.arrival_s = static_cast<double>(i), .input_tokens = 10 + i, .output_tokens = 1});
  }
  const MeasuredRun run = run_of({recorded});
  LoadScript rank(run, plain_facts(), 7, 2);
  ASSERT_EQ(rank.size(), 3);
  EXPECT_DOUBLE_EQ(rank.times_rank(run.parts.front()), 5.0 / 3.0);
  for (std::int64_t i = 0; i < 5; i += 2) {
    const domain::Request request = rank.pop();
    EXPECT_EQ(request.arrival, at_seconds(i));
    EXPECT_EQ(request.prompt_tokens.value(), 10 + i);
    EXPECT_EQ(request.id, core::RequestId(static_cast<core::RequestId::Rep>(i / 2)));
  }
  StageLoad closed = load(StageLoad::Kind::kClosed, 12, 0.0);
  closed.concurrency = 3;
  LoadScript few(run_of({closed}), plain_facts(), 7, 8);
  EXPECT_EQ(few.size(), 4);  // 3 clients reach 3 ranks, with one each
  static_cast<void>(few.pop());
  EXPECT_FALSE(few.next_arrival().has_value());
}

}  // namespace
}  // namespace ridgeline::evidence::validate
