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

TEST(ReadQuestion, TargetsAreNeeded) {
  QuestionWords all = words();
  all.overrides.pop_back();
  const auto question = read_question(all);
  ASSERT_FALSE(question.has_value());
  EXPECT_EQ(question.error().front().field, "slo");
}

}  // namespace
}  // namespace ridgeline::plan
