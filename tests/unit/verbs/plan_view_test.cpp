#include "verbs/plan_view.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/answer.hpp"
#include "plan/answer_tree.hpp"
#include "plan/cost.hpp"
#include "plan/target.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string plan_table(const plan::Answer& answer) {
  return plan_sheet(plan::answer_tree(answer, {})).render(report::Face::kTerminal, {});
}

plan::Answer answer(plan::Objective objective) {
  plan::Answer found;
  found.workload = "8 req/s";
  found.question.objectives = {objective};
  found.question.slo.targets = {plan::percentile_target(
      metrics::Metric::kTpot, metrics::Statistic::kP99, core::Duration::milliseconds(50))};
  plan::PlanCandidate candidate;
  candidate.label = "h100 TP1";
  candidate.replicas = 2;
  candidate.cost.gpus = 2;
  candidate.cost.watts = plan::Estimate{.value = 987.0, .lo = 900.0, .hi = 1000.0};
  candidate.cost.joules_per_token = plan::Estimate{.value = 0.321, .lo = 0.3, .hi = 0.4};
  found.candidates = {candidate};
  found.ranking = {0};
  found.pick = 0;
  return found;
}

TEST(PlanTable, ShowsTheNumberThatItRanksBy) {
  EXPECT_THAT(plan_table(answer(plan::Objective::kJoulesPerToken)),
              AllOf(HasSubstr("J/token  "),
                    HasSubstr("0.321"),
                    HasSubstr("least J/token at"),
                    Not(HasSubstr("cheapest"))));
  EXPECT_THAT(plan_table(answer(plan::Objective::kWatts)),
              AllOf(HasSubstr("987"), HasSubstr("least watts at"), Not(HasSubstr("0.321"))));
  EXPECT_THAT(plan_table(answer(plan::Objective::kGpus)),
              AllOf(HasSubstr("fewest GPUs at"), Not(HasSubstr("987")), Not(HasSubstr("0.321"))));
}

}  // namespace
}  // namespace ridgeline::verbs
