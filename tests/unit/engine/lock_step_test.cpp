// Data-parallel ranks in lock-step, by hand: a step is one step of every rank.
#include "engine/loop/lock_step.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "support/linear_model.hpp"
#include "support/probe_run.hpp"
#include "support/ranks.hpp"

namespace ridgeline::engine::lock_steps {
namespace {

constexpr std::int64_t kAgreedEvery = 32;  // vLLM's ranks.

core::Duration us(std::int64_t count) {
  return core::Duration::microseconds(count);
}
core::SimTime at_us(std::int64_t count) {
  return core::SimTime::at(us(count));
}

/// Steps of 1,000 us and 10 for each token; a prompt of 64 tokens fits one step.
EngineOptions rank_options() {
  EngineOptions options = test::tiny_options("0.28");
  options.max_num_batched_tokens = core::Tokens(64);
  return options;
}

domain::Request request(std::uint32_t id,
                        std::int64_t at,
                        std::int64_t prompt,
                        std::int64_t output) {
  domain::Request one = test::tiny_request(id, prompt, output);
  one.arrival = at_us(at);
  return one;
}

TEST(LockStep, ARankWithoutRequestsStepsWithTheOther) {
  const auto run =
      test::run_ranks(2, rank_options(), test::LinearModel(), {}, {request(0, 0, 50, 3)}, false);
  const auto& record = run.ranks[0].sink.requests.front();
  EXPECT_EQ(record.first_token, at_us(1500));
  EXPECT_EQ(record.last_token, at_us(1500 + 2 * 1010));
  // The wave goes on until the ranks agree that nothing is left.
  EXPECT_EQ(run.ranks[0].totals.steps, kAgreedEvery);
  EXPECT_EQ(run.ranks[1].totals.steps, kAgreedEvery);
  EXPECT_EQ(run.steps[0].dummy_steps, kAgreedEvery - 3);
  EXPECT_EQ(run.steps[1].dummy_steps, kAgreedEvery);
  EXPECT_EQ(run.steps[0].waited, us(0));
  EXPECT_EQ(run.steps[1].waited, us(490)) << "for the prompt of the other";
  EXPECT_EQ(run.ranks[1].end, at_us(1500 + (kAgreedEvery - 1) * 1010));
  EXPECT_EQ(run.ranks[1].totals.busy, us(1500 + (kAgreedEvery - 1) * 1010));
}

TEST(LockStep, AStepTakesAsLongAsTheLongestRank) {
  // The second rank's prompt comes during the first step, and is computed in the next.
  const auto run = test::run_ranks(2,
                                   rank_options(),
                                   test::LinearModel(),
                                   {},
                                   {request(0, 0, 50, 3), request(1, 700, 20, 2)},
                                   false);
  const auto& first = run.ranks[0].sink.requests.front();
  const auto& second = run.ranks[1].sink.requests.front();
  EXPECT_EQ(first.first_token, at_us(1500));
  EXPECT_EQ(second.first_token, at_us(1500 + 1200));
  EXPECT_EQ(second.last_token, at_us(1500 + 1200 + 1010));
  EXPECT_EQ(first.last_token, second.last_token);
  EXPECT_EQ(run.ranks[0].sink.gaps.at(us(1200).count()), 1) << "a decode waits for the prompt";
  EXPECT_EQ(run.steps[0].waited, us(190));
}

TEST(LockStep, ARequestWakesAllAgain) {
  const std::int64_t end = 1010 * kAgreedEvery;
  const auto run = test::run_ranks(2,
                                   rank_options(),
                                   test::LinearModel(),
                                   {},
                                   {request(0, 0, 1, 1), request(1, end + 5000, 1, 1)},
                                   false);
  EXPECT_EQ(run.ranks[1].sink.requests.front().first_token, at_us(end + 5000 + 1010));
  EXPECT_EQ(run.ranks[0].totals.steps, 2 * kAgreedEvery);
  EXPECT_EQ(run.ranks[0].end, at_us(end + 5000 + end));
}

TEST(LockStep, AnAsynchronousRankHasTwoStepsInFlight) {
  EngineOptions options = rank_options();
  options.async_scheduling = true;
  const auto run =
      test::run_ranks(2, options, test::LinearModel(), {}, {request(0, 0, 50, 3)}, false);
  const auto& record = run.ranks[0].sink.requests.front();
  EXPECT_EQ(record.first_token, at_us(1500));
  EXPECT_EQ(record.last_token, at_us(1500 + 2 * 1010));
  EXPECT_EQ(run.ranks[0].totals.steps, kAgreedEvery);
  EXPECT_EQ(run.steps[1].dummy_steps, kAgreedEvery);
}

TEST(LockStep, OneRankAloneRunsNoDummy) {
  const auto run =
      test::run_ranks(1, rank_options(), test::LinearModel(), {}, {request(0, 0, 50, 3)}, true);
  EXPECT_EQ(run.ranks[0].totals.steps, 3);
  EXPECT_EQ(run.steps[0].dummy_steps, 0);
  EXPECT_EQ(run.pause, Pause::kIdle);
}

}  // namespace
}  // namespace ridgeline::engine::lock_steps
