#include "plan/planner.hpp"

#include <atomic>
#include <string>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "plan/bounds.hpp"
#include "plan/capacity_measure.hpp"
#include "plan/demand.hpp"
#include "plan/finish.hpp"
#include "plan/points.hpp"
#include "plan/space.hpp"

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
  // Of one replica.
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
