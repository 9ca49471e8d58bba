#include "plan/finalist_doubt.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "plan/answer.hpp"
#include "plan/demand.hpp"
#include "plan/factors.hpp"
#include "plan/finish.hpp"
#include "plan/linear_doubt.hpp"
#include "plan/question.hpp"
#include "plan/space.hpp"

namespace ridgeline::plan {
namespace {

TEST(FinalistDoubt, WhatWasMeasuredOfADeploymentIsItsSpread) {
  QuestionWords words;
  words.overrides = {{.path = "model", .text = "llama-3.1-8b"},
                     {.path = "gpu", .text = "h100"},
                     {.path = "workload.request_rate", .text = "5"},
                     {.path = "slo.ttft", .text = "500ms"}};
  const auto question = read_question(words);
  ASSERT_TRUE(question.has_value());
  const auto space = Space::read(*question);
  ASSERT_TRUE(space.has_value());
  const Demand demand;
  const FinishInputs inputs{.question = *question, .space = *space, .demand = demand, .load = 5.0};
  Answer answer;
  answer.candidates.resize(2);
  answer.candidates[0].capacity = Interval{.value = 4.0, .lo = 4.0, .hi = 4.0};
  answer.candidates[1].capacity = Interval{.value = 3.0, .lo = 3.0, .hi = 3.0};
  std::vector<Finalist> finalists(2);
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    finalists[i].candidate = i;
    finalists[i].rules = {.load = 5.0, .most = 8};
    finalists[i].unit_costs = {1.0};
  }
  Cause cause;
  cause.factor.sd = 0.1;
  cause.elasticity = 1.0;
  cause.is_scaled = false;
  std::vector<CandidateCauses> causes(2);
  causes[0].causes = {cause};
  causes[0].known_sd = 0.25;  // The cause alone says 0.1.
  causes[1].known_sd = 0.25;  // It has no cause to share.
  const FinalistDoubt doubt = join_causes(inputs, finalists, causes, answer);
  ASSERT_EQ(doubt.input.rows.size(), 2U);
  for (const Row& row : doubt.input.rows) {
    EXPECT_NEAR(log_capacity(row, doubt.input.factors).sd, 0.25, 1e-12);
  }
  EXPECT_EQ(doubt.input.rows[0].max_replicas, 8);
}

}  // namespace
}  // namespace ridgeline::plan
