#include "plan/planner.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/distributions.hpp"
#include "core/rng.hpp"
#include "document/document.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "plan/bounds.hpp"
#include "plan/capacity_measure.hpp"
#include "plan/demand.hpp"
#include "plan/finish.hpp"
#include "plan/points.hpp"
#include "plan/space.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::plan {
namespace {

Question question(const std::string& ttft, const std::string& gpus = "h100,h200") {
  QuestionWords words;
  words.overrides = {{.path = "model", .text = "llama-3.1-8b"},
                     {.path = "gpu", .text = gpus},
                     {.path = "engine.tensor_parallel_size", .text = "1"},
                     {.path = "engine.max_num_batched_tokens", .text = "2048"},
                     {.path = "workload.request_rate", .text = "8"},
                     {.path = "workload.input_len", .text = "512"},
                     {.path = "workload.output_len", .text = "64"},
                     {.path = "slo.ttft", .text = ttft}};
  words.objective = "gpus";
  words.effort = "quick";
  auto read = read_question(words);
  EXPECT_TRUE(read.has_value());
  return std::move(*read);
}

TEST(Plan, AnswersAQuestionThatOneGpuServes) {
  const std::atomic<bool> interrupt = false;
  const auto answer = plan(question("500ms"), {}, interrupt);
  ASSERT_TRUE(answer.has_value());
  ASSERT_TRUE(answer->pick.has_value());
  const PlanCandidate& pick = answer->candidates[*answer->pick];
  EXPECT_EQ(pick.replicas * pick.gpus_per_replica, 1);
  EXPECT_GE(pick.p_feasible, 0.9);
  ASSERT_TRUE(pick.certificate.has_value());
  EXPECT_GE(pick.certificate->windows, 29);
  ASSERT_NE(pick.resolved, nullptr);
}

TEST(Plan, AnImpossibleTargetIsRefusedWithItsProof) {
  const std::atomic<bool> interrupt = false;
  const auto answer = plan(question("1ms"), {}, interrupt);
  ASSERT_TRUE(answer.has_value());
  EXPECT_FALSE(answer->pick.has_value());
  EXPECT_TRUE(answer->is_infeasible);
  EXPECT_EQ(answer->search.requests_simulated, 0);
  EXPECT_NE(answer->failure.find("without load"), std::string::npos);
  EXPECT_FALSE(answer->nearest.empty());
}

TEST(Plan, LimitsThatNothingFitsNameWhatWould) {
  Question limited = question("500ms");
  limited.limits.stock = {{"h100", 0}, {"h200", 0}};
  const std::atomic<bool> interrupt = false;
  const auto answer = plan(limited, {}, interrupt);
  ASSERT_TRUE(answer.has_value());
  EXPECT_TRUE(answer->is_infeasible);
  ASSERT_EQ(answer->nearest.size(), 1U);
  EXPECT_EQ(answer->nearest.front().substr(0, 23), "1 h100 for one replica ");
}

TEST(Plan, TheTableOfPricesKnowsWhereTheAnswerTurns) {
  Question priced = question("500ms");
  priced.objectives = {Objective::kUsdPerHour};
  core::Errors errors;
  priced.cost = read_cost(document::Node(), "cost", true, errors);
  ASSERT_TRUE(errors.empty());
  const std::atomic<bool> interrupt = false;
  const auto answer = plan(priced, {}, interrupt);
  ASSERT_TRUE(answer.has_value() && answer->pick);
  // One GPU of either kind serves the load: the h200 would be picked were it cheaper.
  EXPECT_EQ(answer->candidates[*answer->pick].gpu, "h100");
  ASSERT_EQ(answer->breakevens.size(), 1U);
  EXPECT_EQ(answer->breakevens[0].against, "h200");
  EXPECT_DOUBLE_EQ(answer->breakevens[0].ratio, 1.0);
}

TEST(Plan, AWindowHoldsAsManyRequestsAsItsPercentileNeeds) {
  Question short_window = question("500ms");
  short_window.slo.window = core::Duration::seconds(1);
  const std::atomic<bool> interrupt = false;
  const auto answer = plan(short_window, {}, interrupt);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().front().field, "slo.window");
}

TEST(Plan, AnInterruptGivesWhatThereIs) {
  const std::atomic<bool> interrupt = true;
  const auto answer = plan(question("500ms"), {}, interrupt);
  ASSERT_TRUE(answer.has_value());
  EXPECT_TRUE(answer->partial);
}

/// A file for one test.
class WrittenFile {
 public:
  explicit WrittenFile(const std::string& text)
      : path_((std::filesystem::temp_directory_path() /
               (std::string("ridgeline-plan-") +
                testing::UnitTest::GetInstance()->current_test_info()->name()))
                  .string()) {
    std::ofstream(path_) << text;
  }
  ~WrittenFile() { std::filesystem::remove(path_); }
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Question question_of_trace(const std::string& trace, const std::string& tpot) {
  QuestionWords words;
  words.overrides = {{.path = "model", .text = "llama-3.1-8b"},
                     {.path = "gpu", .text = "h100"},
                     {.path = "workload.trace", .text = trace},
                     {.path = "slo.ttft", .text = "2s"},
                     {.path = "slo.tpot", .text = tpot}};
  words.objective = "gpus";
  words.effort = "quick";
  return *read_question(words);
}

/// What `run` finds of a picked scenario.
metrics::Summary run_of(const PlanCandidate& pick) {
  auto source = pick.resolved->workload.open();
  return sim::simulate(*pick.resolved, **source, {})->summary;
}

TEST(Plan, WhatIsRecommendedOfSessionsIsWhatARunFinds) {
  const WrittenFile sessions(
      "ridgeline_workload: 1\n"
      "sources: [{preset: interactive-chat, request_rate: 2, num_prompts: 500}]\n");
  const std::atomic<bool> interrupt = false;
  const auto answer = plan(question_of_trace(sessions.path(), "30ms"), {}, interrupt);
  ASSERT_TRUE(answer.has_value() && answer->pick);
  EXPECT_TRUE(answer->session_rate.has_value());
  const PlanCandidate& pick = answer->candidates[*answer->pick];
  const metrics::Summary run = run_of(pick);
  EXPECT_GT(run.completed, 1'500);  // 500 sessions of four turns, not the first 500 requests.
  const auto ttft = run.client.of(metrics::Metric::kTtft)->of(metrics::Statistic::kP99);
  const auto tpot = run.client.of(metrics::Metric::kTpot)->of(metrics::Statistic::kP99);
  EXPECT_DOUBLE_EQ(pick.targets[0].value_ms->value, ttft);
  EXPECT_DOUBLE_EQ(pick.targets[1].value_ms->value, tpot);
  EXPECT_LE(ttft, 2000.0);
  EXPECT_LE(tpot, 30.0);
}

TEST(Plan, ATraceWhosePromptsShareIsTheLoadOfItsPrefixes) {
  std::string rows;
  core::RngStream rng(1, 0, "arrivals", 0);
  double at = 0.0;
  for (int i = 0; i < 3'000; ++i) {
    at += core::exponential(rng, 1.0 / 12.0);
    const std::uint64_t prefix = rng.below(10) * 100;
    std::string ids;
    for (std::uint64_t k = 0; k < 12; ++k) {
      ids += fmt::format("{},", prefix + k);
    }
    rows += fmt::format(
        R"({{"timestamp":{:.0f},"input_length":6244,"output_length":50,"hash_ids":[{}{}]}})"
        "\n",
        at * 1e3,
        ids,
        10'000 + i);
  }
  const WrittenFile trace(rows);
  const std::atomic<bool> interrupt = false;
  const auto of_trace = plan(question_of_trace(trace.path(), "50ms"), {}, interrupt);
  QuestionWords words;
  words.overrides = {{.path = "model", .text = "llama-3.1-8b"},
                     {.path = "gpu", .text = "h100"},
                     {.path = "workload.request_rate", .text = "12"},
                     {.path = "workload.input_len", .text = "100"},
                     {.path = "workload.output_len", .text = "50"},
                     {.path = "workload.prefix_len", .text = "6144"},
                     {.path = "workload.num_prefixes", .text = "10"},
                     {.path = "slo.ttft", .text = "500ms"},
                     {.path = "slo.tpot", .text = "50ms"}};
  words.objective = "gpus";
  words.effort = "quick";
  const auto of_rate = plan(*read_question(words), {}, interrupt);
  ASSERT_TRUE(of_trace.has_value() && of_trace->pick);
  ASSERT_TRUE(of_rate.has_value() && of_rate->pick);
  EXPECT_EQ(of_trace->candidates[*of_trace->pick].cost.gpus,
            of_rate->candidates[*of_rate->pick].cost.gpus);
}

TEST(Plan, ANetworkThatNoNodeHoldsIsPlannedInPipelines) {
  QuestionWords words;
  words.overrides = {{.path = "model", .text = "deepseek-v3"},
                     {.path = "gpu", .text = "h100"},
                     {.path = "workload.request_rate", .text = "5"},
                     {.path = "workload.input_len", .text = "500"},
                     {.path = "workload.output_len", .text = "50"},
                     {.path = "slo.ttft", .text = "3s"},
                     {.path = "slo.tpot", .text = "100ms"}};
  const Question question = *read_question(words);
  auto space = Space::read(question);
  ASSERT_TRUE(space.has_value());
  const std::atomic<bool> interrupt = false;
  const auto points = look_at_points(question, *space, 1, {}, interrupt);
  ASSERT_TRUE(points.has_value());
  EXPECT_DOUBLE_EQ(points->demand.rate, 5.0);
  EXPECT_DOUBLE_EQ(points->demand.mean_input, 500.0);
  ASSERT_FALSE(points->open.empty());
  for (const OpenPoint& open : points->open) {  // Two nodes of eight, or four.
    const std::int64_t gpus = points->candidates[open.candidate].gpus_per_replica;
    EXPECT_TRUE(gpus == 16 || gpus == 32) << gpus;
  }
}

TEST(Plan, SettingsThatChangeNothingAreOneRow) {
  QuestionWords words;
  words.overrides = {{.path = "model", .text = "llama-3.1-8b"},
                     {.path = "gpu", .text = "h100"},
                     {.path = "engine.tensor_parallel_size", .text = "1"},
                     {.path = "engine.max_num_batched_tokens", .text = "4096,8192"},
                     {.path = "workload.request_rate", .text = "2"},
                     {.path = "workload.input_len", .text = "64"},
                     {.path = "workload.output_len", .text = "64"},
                     {.path = "slo.ttft", .text = "500ms"}};
  words.objective = "gpus";
  words.effort = "quick";
  const std::atomic<bool> interrupt = false;
  const auto answer = plan(*read_question(words), {}, interrupt);
  ASSERT_TRUE(answer.has_value() && answer->pick);
  ASSERT_EQ(answer->ranking.size(), 1U);
  EXPECT_EQ(answer->candidates[answer->ranking[0]].twins.size(), 1U);
}

TEST(Space, CountsAndNamesItsPoints) {
  const Question asked = question("500ms");
  const auto space = Space::read(asked);
  ASSERT_TRUE(space.has_value());
  ASSERT_EQ(space->size(), 2);
  const auto first = space->resolve(space->point(0));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(label_of(space->point(0), first->resolved), "h100 TP1");
  EXPECT_EQ(gpus_of(first->resolved, Split{.prefill = 1, .decode = 2}), 3);
}

TEST(Space, RanksOfASplitAreInstances) {
  Question asked = question("500ms");
  asked.splits = {Split{.prefill = 1, .decode = 2}};
  asked.overrides.push_back({.path = "engine.data_parallel_size", .text = "2"});
  const auto space = Space::read(asked);
  ASSERT_TRUE(space.has_value());
  const auto twice = space->resolve(space->point(0), 2);
  ASSERT_TRUE(twice.has_value());
  const auto& cluster = twice->resolved.run.cluster;
  EXPECT_EQ(cluster.instances, 12);
  EXPECT_EQ(cluster.disaggregation.prefill_instances, 4);
  // GPUs of one replica.
  EXPECT_EQ(gpus_of(twice->resolved, space->point(0).split), 6);
}

TEST(MostReplicas, ByLimitsAndStock) {
  const Limits limits{.max_gpus = 16, .stock = {{"h100", 6}}};
  EXPECT_EQ(most_replicas(limits, "h100", 4), 1);
  EXPECT_EQ(most_replicas(limits, "h200", 4), 4);
}

TEST(Bounds, MoreIsNeverProvedImpossible) {
  const Question asked = question("500ms");
  const auto space = Space::read(asked);
  const auto point = space->resolve(space->point(0));
  const auto demand = demand_of(point->resolved);
  ASSERT_TRUE(demand.has_value());
  const FluidInputs inputs{.deployment = *point->resolved.deployment,
                           .model = *point->resolved.deployment->latency,
                           .demand = *demand};
  const Bounds bounds = bounds_of(inputs, asked.slo.targets);
  EXPECT_FALSE(bounds.proof.has_value());
  EXPECT_GE(bounds.most_rate, fluid_saturation(inputs));
}

TEST(CapacityMeasure, RefusesAScenarioWithoutTargets) {
  Question asked = question("500ms");
  const auto space = Space::read(asked);
  const auto point = space->resolve(space->point(0));
  const std::atomic<bool> interrupt = false;
  const auto found = capacity_measure().find(point->resolved, interrupt);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().front().field, "slo");
}

}  // namespace
}  // namespace ridgeline::plan
