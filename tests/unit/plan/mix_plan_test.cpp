#include "plan/mix_plan.hpp"

#include <atomic>
#include <string>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "plan/classes.hpp"
#include "plan/question.hpp"

namespace ridgeline::plan {
namespace {

Question two_classes(const std::string& ttft) {
  QuestionWords words;
  words.overrides = {{.path = "model", .text = "llama-3.1-8b"},
                     {.path = "gpu", .text = "l40s,h100"},
                     {.path = "engine.tensor_parallel_size", .text = "1"},
                     {.path = "engine.max_num_batched_tokens", .text = "2048"},
                     {.path = "slo.ttft", .text = ttft},
                     {.path = "slo.tpot", .text = "50ms"}};
  words.effort = "quick";
  auto question = read_question(words);
  EXPECT_TRUE(question.has_value());
  const auto classes = document::parse_yaml(
      "chat: {request_rate: 12, input_len: 300, output_len: 100}\n"
      "documents: {request_rate: 2, input_len: 4000, output_len: 50}\n",
      "plan.yaml");
  EXPECT_TRUE(classes.has_value());
  core::Errors errors;
  question->classes = read_classes(*classes, nullptr, errors);
  EXPECT_TRUE(errors.empty());
  return std::move(*question);
}

TEST(MixPlan, EveryClassIsServedAndEveryPoolCertified) {
  const std::atomic<bool> interrupt = false;
  const auto answer = plan_mix(two_classes("2s"), {}, interrupt);
  if (!answer) {
    // Nothing else may be wrong than that the solver is not installed.
    ASSERT_EQ(answer.error().front().hint, "apt install coinor-libcbc3");
    GTEST_SKIP() << answer.error().front().message;
  }
  EXPECT_EQ(answer->failure, "");
  ASSERT_FALSE(answer->pools.empty());
  double cost = 0.0;
  double rate = 0.0;
  std::vector<double> shares = {0.0, 0.0};
  for (const MixPool& pool : answer->pools) {
    EXPECT_TRUE(pool.certificate.holds);
    EXPECT_EQ(pool.certificate.windows, 29);
    EXPECT_GE(pool.p_feasible, 0.9);
    const MixCandidate& candidate = answer->candidates[pool.candidate];
    cost += static_cast<double>(pool.replicas) * candidate.cost;
    rate += pool.rate;
    for (std::size_t c = 0; c < shares.size(); ++c) {
      shares[c] += pool.shares[c];
      EXPECT_LE(candidate.sure[c], candidate.capacity[c]);
    }
  }
  EXPECT_NEAR(shares[0], 1.0, 1e-5);
  EXPECT_NEAR(shares[1], 1.0, 1e-5);
  EXPECT_NEAR(rate, 14.0, 1e-3);
  EXPECT_DOUBLE_EQ(answer->cost, cost);
  ASSERT_TRUE(answer->alone);
  EXPECT_LE(answer->cost, answer->alone->cost);
}

TEST(MixPlan, AClassThatNothingServesIsNamed) {
  const std::atomic<bool> interrupt = false;
  const auto answer = plan_mix(two_classes("60ms"), {}, interrupt);
  if (!answer) {
    // Nothing else may be wrong than that the solver is not installed.
    ASSERT_EQ(answer.error().front().hint, "apt install coinor-libcbc3");
    GTEST_SKIP() << answer.error().front().message;
  }
  EXPECT_TRUE(answer->pools.empty());
  EXPECT_EQ(answer->failure,
            "no deployment meets the targets for class documents, whatever the load");
}

TEST(MixPlan, WhatItDoesNotTakeIsRefusedAtOnce) {
  Question question = two_classes("2s");
  question.objectives = {Objective::kWatts};
  question.limits.spare_replicas = 1;
  question.replicas = {2};
  const std::atomic<bool> interrupt = false;
  const auto answer = plan_mix(question, {}, interrupt);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().size(), 3U);
}

}  // namespace
}  // namespace ridgeline::plan
