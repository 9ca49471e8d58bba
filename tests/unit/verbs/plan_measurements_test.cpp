#include "verbs/plan_measurements.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/answer.hpp"
#include "plan/cost.hpp"
#include "plan/doubt.hpp"

namespace ridgeline::verbs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

plan::Answer with_measurements() {
  plan::Answer answer;
  answer.question.objectives = {plan::Objective::kUsdPerHour};
  answer.candidates.resize(1);
  answer.pick = 0;
  answer.measurements = {{.what = "capacity of one replica, h200 TP2",
                          .command = "vllm bench serve",
                          .gpu = "h200",
                          .minutes = 10.0,
                          .resolves = 0.8,
                          .value = 0.5,
                          .changes_answer = 0.3},
                         {.what = "GEMM, h200",
                          .command = "python3 -m ridgeline_profiler",
                          .gpu = "h200",
                          .minutes = 3.0,
                          .resolves = 0.2,
                          .value = 0.1,
                          .is_kernel = true,
                          .changes_answer = 0.05},
                         {.what = "sampling, h200", .is_kernel = true, .changes_answer = 0.01}};
  return answer;
}

TEST(PlanMeasurements, AreInWordsWithTheirCommands) {
  const std::string text = plan_measurements(with_measurements(), 5, false);
  EXPECT_THAT(text,
              HasSubstr(" 1  capacity of one replica, h200 TP2\n"
                        "    changes the answer with 30 %, removes 80 % of the doubt about the "
                        "pick, saves $365 a month; 10 min on h200\n"
                        "    vllm bench serve\n"
                        " 2  GEMM, h200\n"));
  EXPECT_THAT(text, Not(HasSubstr("sampling")));  // Not worth it.
  EXPECT_THAT(plan_measurements(with_measurements(), 1, false), Not(HasSubstr("GEMM")));
}

TEST(PlanMeasurements, NamesOfOthersEndNoLine) {
  plan::Answer answer = with_measurements();
  answer.measurements[0].what = answer.measurements[0].gpu = "h1\ntouch x";
  EXPECT_THAT(measurement_script(answer, 5, false), Not(HasSubstr("\ntouch x")));
  EXPECT_THAT(plan_measurements(answer, 5, false), Not(HasSubstr("\ntouch x")));
}

TEST(PlanMeasurements, OfKernelsAlone) {
  const std::string text = plan_measurements(with_measurements(), 5, true);
  EXPECT_THAT(text, HasSubstr(" 1  GEMM, h200\n"));
  EXPECT_THAT(text, Not(HasSubstr("capacity of")));
}

TEST(PlanMeasurements, NothingIsWorthMeasuringWhereNothingChangesTheAnswer) {
  plan::Answer answer = with_measurements();
  answer.measurements.erase(answer.measurements.begin(), answer.measurements.begin() + 2);
  EXPECT_EQ(plan_measurements(answer, 5, false),
            "Nothing worth measuring: no measurement changes the answer with 2 % or more.\n");
  answer.pick.reset();
  EXPECT_THAT(plan_measurements(answer, 5, false), HasSubstr("No deployment is sure enough"));
}

TEST(MeasurementScript, HasACommandForEach) {
  const std::string script = measurement_script(with_measurements(), 5, false);
  EXPECT_THAT(script, ::testing::StartsWith("#!/usr/bin/env bash\n"));
  EXPECT_THAT(script, HasSubstr("\nvllm bench serve\n"));
  EXPECT_THAT(script, HasSubstr("# GEMM, h200: changes the answer with 5 %"));
  EXPECT_THAT(measurement_script(with_measurements(), 5, true),
              Not(HasSubstr("vllm bench serve\n")));
  plan::Answer nothing = with_measurements();
  nothing.measurements.clear();
  EXPECT_THAT(measurement_script(nothing, 5, false), HasSubstr("# Nothing is worth measuring."));
}

}  // namespace
}  // namespace ridgeline::verbs
