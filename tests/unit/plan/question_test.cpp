#include "plan/question.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace ridgeline::plan {
namespace {

QuestionWords words() {
  QuestionWords all;
  all.overrides = {{.path = "model", .text = "llama-3.1-8b"},
                   {.path = "gpu", .text = "h100,h200"},
                   {.path = "workload.request_rate", .text = "5"},
                   {.path = "slo.ttft", .text = "500ms"}};
  return all;
}

TEST(ReadQuestion, ListsByCommasAreSearched) {
  const auto question = read_question(words());
  ASSERT_TRUE(question.has_value());
  ASSERT_NE(question->axes.find("gpu"), nullptr);
  EXPECT_EQ(question->axes.find("gpu")->items().size(), 2U);
  EXPECT_NE(question->axes.find("engine.tensor_parallel_size"), nullptr);
  EXPECT_EQ(question->objectives.front(), Objective::kUsdPerHour);
  ASSERT_EQ(question->slo.targets.size(), 1U);
}

TEST(ReadQuestion, ADefaultObjectiveWithoutPricesIsGpus) {
  QuestionWords all = words();
  all.overrides[1].text = "l4";
  const auto question = read_question(all);
  ASSERT_TRUE(question.has_value());
  if (question->objectives.front() == Objective::kGpus) {
    EXPECT_TRUE(std::ranges::any_of(question->warnings, [](const core::Warning& warning) {
      return warning.code == "W-objective";
    }));
  }
}

TEST(ReadQuestion, AllProblemsAtOnce) {
  QuestionWords all = words();
  all.overrides[0].text = "lama-3.1-8b";
  all.overrides[1].text = "h100,h2000";
  all.overrides[3].text = "500";
  all.confidence = "2";
  const auto question = read_question(all);
  ASSERT_FALSE(question.has_value());
  EXPECT_GE(question.error().size(), 4U);
}

TEST(ReadQuestion, RoutersAreThoseOfTheFiles) {
  QuestionWords all = words();
  all.routers = {"round-robin", "random"};
  all.routers_of = "vllm";
  const auto assumed = read_question(all);
  ASSERT_TRUE(assumed.has_value());
  EXPECT_EQ(assumed->assumed_router, "round-robin");
  all.overrides.push_back({.path = "cluster.router.name", .text = "random"});
  const auto stated = read_question(all);
  ASSERT_TRUE(stated.has_value());
  EXPECT_EQ(stated->assumed_router, "");
  all.overrides.back().text = "random,llm-d";
  const auto refused = read_question(all);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().front().field, "cluster.router.name");
  EXPECT_EQ(refused.error().front().message,
            "found \"llm-d\", expected what files for vllm can bring about: round-robin, random");
}

TEST(ReadQuestion, ARouterThatThereIsNotIsRefused) {
  QuestionWords all = words();
  all.axes = {"cluster.router.name=round-robin,round-robbin"};
  const auto question = read_question(all);
  ASSERT_FALSE(question.has_value());
  EXPECT_EQ(question.error().front().field, "cluster.router.name");
}

TEST(ReadQuestion, AnObjectiveTwiceIsRefused) {
  QuestionWords all = words();
  all.objective = "gpus,gpus";
  const auto question = read_question(all);
  ASSERT_FALSE(question.has_value());
  EXPECT_EQ(question.error().front().field, "--objective");
  EXPECT_EQ(question.error().front().where.line, 0);
}

TEST(ReadQuestion, EveryEngineHasItsOwnBudget) {
  QuestionWords all = words();
  all.overrides.push_back({.path = "engine.version", .text = "all"});
  const auto question = read_question(all);
  ASSERT_TRUE(question.has_value());
  EXPECT_EQ(question->engines.size(), 3U);
  for (const char* budget :
       {"engine.max_num_batched_tokens", "engine.chunked_prefill_size", "engine.max_num_tokens"}) {
    EXPECT_NE(question->axes.find(budget), nullptr) << budget;
  }
  all.overrides.back().text = "sglang";
  const auto one = read_question(all);
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->axes.find("engine.max_num_batched_tokens"), nullptr);
  EXPECT_NE(one->axes.find("engine.chunked_prefill_size"), nullptr);
}

TEST(ReadQuestion, WhatNoEngineOfSeveralHasIsRefused) {
  QuestionWords all = words();
  all.overrides.push_back({.path = "engine.version", .text = "vllm,sglang"});
  all.axes = {"engine.max_num_tokens=2048"};
  const auto question = read_question(all);
  ASSERT_FALSE(question.has_value());
  EXPECT_EQ(question.error().front().field, "engine.max_num_tokens");
  EXPECT_EQ(question.error().front().message, "would be ignored: none of vllm, sglang has it");
}

TEST(ReadQuestion, AnEngineThatThereIsNotIsRefused) {
  QuestionWords all = words();
  all.overrides.push_back({.path = "engine.version", .text = "vllm,sglung"});
  const auto question = read_question(all);
  ASSERT_FALSE(question.has_value());
  EXPECT_EQ(question.error().front().field, "engine.version");
}

TEST(ReadQuestion, OneGpuWithoutAPriceIsListedApart) {
  QuestionWords all = words();
  all.overrides[1].text = "h100,l4";
  const auto question = read_question(all);
  ASSERT_TRUE(question.has_value());
  EXPECT_EQ(question->objectives.front(), Objective::kUsdPerHour);
  EXPECT_TRUE(std::ranges::any_of(question->warnings, [](const core::Warning& warning) {
    return warning.code == "W-no-price" &&
           warning.message.find("no price of l4") != std::string::npos;
  }));
}

TEST(ReadQuestion, TargetsAreNeeded) {
  QuestionWords all = words();
  all.overrides.pop_back();
  const auto question = read_question(all);
  ASSERT_FALSE(question.has_value());
  EXPECT_EQ(question.error().front().field, "slo");
}

}  // namespace
}  // namespace ridgeline::plan
