#include "plan/maximize.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "plan/planner.hpp"
#include "plan/question.hpp"

namespace ridgeline::plan {
namespace {

const std::atomic<bool> kNoInterrupt = false;

Question most(const std::string& gpus, const std::string& load = {}) {
  QuestionWords words;
  words.overrides = {{.path = "model", .text = "llama-3.1-8b"},
                     {.path = "gpu", .text = "h100"},
                     {.path = "engine.tensor_parallel_size", .text = "1,2,4"},
                     {.path = "engine.max_num_batched_tokens", .text = "2048"},
                     {.path = "workload.input_len", .text = "512"},
                     {.path = "workload.output_len", .text = "64"},
                     {.path = "slo.tpot", .text = "12ms"},
                     {.path = "slo.statistic", .text = "mean"}};
  if (!load.empty()) {
    words.overrides.push_back({.path = load, .text = "auto"});
  }
  words.maximize = "throughput";
  words.max_gpus = gpus;
  words.effort = "quick";
  auto read = read_question(words);
  EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().front().message);
  return std::move(*read);
}

const PlanCandidate& pick_of(const Answer& answer) {
  return answer.candidates[answer.pick.value_or(0)];
}

TEST(Maximize, PicksWhatYieldsMostOfAllGpus) {
  const auto answer = plan(most("4"), {}, kNoInterrupt);
  ASSERT_TRUE(answer.has_value() && answer->pick);
  EXPECT_TRUE(answer->is_closed_loop);
  ASSERT_EQ(answer->ranking.size(), 3U);
  EXPECT_EQ(answer->ranking.front(), *answer->pick);
  for (const std::size_t i : answer->ranking) {
    const PlanCandidate& candidate = answer->candidates[i];
    EXPECT_EQ(candidate.replicas * candidate.gpus_per_replica, 4);
    ASSERT_TRUE(candidate.at && candidate.capacity && candidate.resolved);
    EXPECT_LE(candidate.at->output_tokens_per_second,
              pick_of(*answer).at->output_tokens_per_second);
    // What is recommended leaves room for the model's error; what is reported does not.
    EXPECT_LE(candidate.at->load,
              candidate.capacity->value * static_cast<double>(candidate.replicas));
    EXPECT_GE(candidate.p_feasible, 0.9);
    EXPECT_LT(candidate.p_feasible, 1.0);
    EXPECT_TRUE(candidate.targets.front().met);
    EXPECT_EQ(static_cast<double>(candidate.resolved->workload.section.max_concurrency.value_or(0)),
              candidate.at->load);
    // Answers have 64 tokens.
    EXPECT_NEAR(candidate.at->output_tokens_per_second,
                64.0 * candidate.at->requests_per_second,
                0.03 * candidate.at->output_tokens_per_second);
  }
}

TEST(Maximize, TwiceTheGpusCarryTwiceTheClients) {
  const auto four = plan(most("4"), {}, kNoInterrupt);
  const auto eight = plan(most("8"), {}, kNoInterrupt);
  ASSERT_TRUE(four.has_value() && four->pick && eight.has_value() && eight->pick);
  EXPECT_EQ(pick_of(*four).label, pick_of(*eight).label);
  EXPECT_NEAR(pick_of(*eight).at->load / pick_of(*four).at->load, 2.0, 0.1);
}

TEST(Maximize, OfARateTheTokensAreThoseThatItAsksFor) {
  const auto answer = plan(most("2", "workload.request_rate"), {}, kNoInterrupt);
  ASSERT_TRUE(answer.has_value() && answer->pick);
  EXPECT_FALSE(answer->is_closed_loop);
  const PlanCandidate& pick = pick_of(*answer);
  EXPECT_EQ(pick.at->requests_per_second, pick.at->load);
  EXPECT_NEAR(pick.at->output_tokens_per_second, 64.0 * pick.at->load, 1e-6);
  EXPECT_EQ(pick.resolved->workload.section.request_rate, pick.at->load);
}

TEST(Maximize, ATargetThatNothingMeetsIsSaid) {
  Question asked = most("4");
  asked.slo.targets.front() = percentile_target(
      metrics::Metric::kTpot, metrics::Statistic::kMean, core::Duration::microseconds(100));
  const auto answer = plan(asked, {}, kNoInterrupt);
  ASSERT_TRUE(answer.has_value());
  EXPECT_FALSE(answer->pick.has_value());
  EXPECT_TRUE(answer->is_infeasible);
}

TEST(Maximize, FewerGpusThanAReplicaTakesAreSaid) {
  Question asked = most("1");
  asked.limits.spare_replicas = 1;
  const auto answer = plan(asked, {}, kNoInterrupt);
  ASSERT_TRUE(answer.has_value());
  EXPECT_FALSE(answer->pick.has_value());
}

}  // namespace
}  // namespace ridgeline::plan
