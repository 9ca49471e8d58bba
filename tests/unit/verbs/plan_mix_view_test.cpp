#include "verbs/plan_mix_view.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/node_json.hpp"
#include "plan/cost.hpp"
#include "plan/mix_plan.hpp"
#include "plan/mix_tree.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

plan::MixAnswer two_pools() {
  plan::MixAnswer answer;
  answer.question.objectives = {plan::Objective::kUsdPerHour};
  answer.question.classes = {{.name = "chat", .workload = {}},
                             {.name = "documents", .workload = {}}};
  answer.rates = {10.0, 2.0};
  answer.candidates = {{.label = "l40s TP1",
                        .gpu = "l40s",
                        .gpus = 1,
                        .cost = 1.0,
                        .capacity = {6.0, 0.5},
                        .sd = {},
                        .sure = {}},
                       {.label = "h100 TP2",
                        .gpu = "h100",
                        .gpus = 2,
                        .cost = 6.0,
                        .capacity = {60.0, 6.0},
                        .sd = {},
                        .sure = {}}};
  answer.pools = {
      {.candidate = 0, .replicas = 2, .shares = {1.0, 0.0}, .rate = 10.0, .p_feasible = 0.95},
      {.candidate = 1, .replicas = 1, .shares = {0.0, 1.0}, .rate = 2.0, .p_feasible = 1.0}};
  answer.cost = 8.0;
  answer.alone = plan::MixAlone{.candidate = 1, .replicas = 2, .cost = 12.0};
  return answer;
}

std::string table_of(const plan::MixAnswer& answer) {
  report::TextStyle style;
  style.ascii = true;
  return mix_sheet(plan::mix_tree(answer, {}, {})).render(report::Face::kTerminal, style);
}

TEST(MixTable, SaysWhatEachPoolServesAndWhatOneDeploymentWouldCost) {
  const std::string text = table_of(two_pools());
  EXPECT_THAT(text, HasSubstr("chat 10 req/s, documents 2 req/s"));
  EXPECT_THAT(text, HasSubstr("2 x l40s TP1"));
  EXPECT_THAT(text, HasSubstr("100 % of chat"));
  EXPECT_THAT(text, HasSubstr("95 %"));
  EXPECT_THAT(
      text, HasSubstr("mix 8.00 USD/h; one deployment for all classes, by the same estimate: 2 x"));
}

TEST(MixTable, SaysWhyThereIsNone) {
  plan::MixAnswer answer = two_pools();
  answer.pools.clear();
  answer.failure = "no deployment meets the targets for class documents, whatever the load";
  const std::string text = table_of(answer);
  EXPECT_THAT(text, HasSubstr("class documents"));
  EXPECT_THAT(text, Not(HasSubstr("USD/h;")));
}

TEST(MixJson, HasPoolsAndTheCapacitiesBehindThem) {
  const std::string text = document::json_text(plan::mix_tree(two_pools(), {}));
  EXPECT_THAT(text, HasSubstr("\"shares\""));
  EXPECT_THAT(text, HasSubstr("\"capacity_rps\""));
  EXPECT_THAT(text, HasSubstr("\"alone\""));
}

}  // namespace
}  // namespace ridgeline::verbs
