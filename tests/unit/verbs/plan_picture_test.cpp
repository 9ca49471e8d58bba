#include "verbs/plan_picture.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/answer.hpp"
#include "plan/target.hpp"
#include "unit/report/xml_check.hpp"

namespace ridgeline::verbs {
namespace {

using report::testing::xml_problem;
using ::testing::HasSubstr;
using ::testing::Not;

plan::PlanCandidate candidate(const std::string& label, plan::Stage stage, double capacity) {
  plan::PlanCandidate found;
  found.label = label;
  found.stage = stage;
  found.unit_cost = 3.0;
  found.fluid_capacity = capacity;
  if (stage != plan::Stage::kFluid) {
    found.replicas = 2;
    found.capacity = plan::Interval{.value = capacity, .lo = capacity * 0.9, .hi = capacity * 1.1};
  }
  return found;
}

plan::Answer answer() {
  plan::Answer found;
  found.workload = "8 req/s";
  found.load = 8.0;
  found.question.objectives = {plan::Objective::kUsdPerHour};
  found.question.slo.targets = {plan::percentile_target(
      metrics::Metric::kTpot, metrics::Statistic::kP99, core::Duration::milliseconds(50))};
  found.candidates = {candidate("h100 <1>", plan::Stage::kCertified, 5.0),
                      candidate("h100 & 2", plan::Stage::kSimulated, 6.0),
                      candidate("l40s", plan::Stage::kFluid, 3.0),
                      candidate("refused", plan::Stage::kBound, 0.0)};
  found.candidates.back().capacity.reset();
  found.pick = 0;
  return found;
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++found;
  }
  return found;
}

TEST(PlanSvg, HasOneNamedMarkPerPoint) {
  const std::string svg = plan_svg(answer());
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_EQ(count(svg, "<title>"), 3U);
  EXPECT_THAT(
      svg, HasSubstr("<title>2 x h100 &lt;1&gt;, 6 USD/h, 10 req/s, 0 % sure (certified)</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>3 x l40s, 9 USD/h, 9 req/s (fluid)</title>"));
  EXPECT_EQ(count(svg, "class=\"ring\""), 1U);
  EXPECT_EQ(count(svg, "class=\"whisker\""), 2U);
  EXPECT_EQ(svg, plan_svg(answer()));
}

TEST(PlanSvg, IsSpeedWhereTokensAreCounted) {
  plan::Answer of_tokens = answer();
  of_tokens.question.objectives = {plan::Objective::kUsdPerMtok};
  of_tokens.candidates[0].targets = {
      {.target = 0, .value_ms = plan::Interval{.value = 20.0, .lo = 16.0, .hi = 25.0}}};
  const std::string svg = plan_svg(of_tokens);
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_THAT(svg, HasSubstr("50 tokens/s of one user"));
  EXPECT_EQ(count(svg, "<title>"), 1U);
}

TEST(PlanSvg, OfNothingIsStillAPicture) {
  plan::Answer none = answer();
  none.candidates.clear();
  none.pick.reset();
  EXPECT_EQ(xml_problem(plan_svg(none)), "");
  EXPECT_THAT(plan_svg(none), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace ridgeline::verbs
