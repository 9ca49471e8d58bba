#include "lab/studies/study_scope.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/studies/expression.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"
#include "lab/studies/study_file.hpp"

namespace ridgeline::studies {
namespace {

using testing::HasSubstr;

/// What an expression gives in a study of two arms, or its problem.
std::string asked(const std::string& text) {
  Study study;
  study.arms = {{.name = "v1", .preset = "v1"},
                {.name = "kernel",
                 .preset = "kernel",
                 .run = {{.path = "engine.max_num_seqs", .text = "4"}}}};
  StudyFile file;
  file.run = {{.path = "workload.num_prompts", .text = "10"},
              {.path = "workload.input_len", .text = "64"},
              {.path = "workload.output_len", .text = "4"}};
  const StudyOptions options;
  const Lab lab(study, options);
  const StudyScope names(study, file, &lab);
  const auto value = names.scope().evaluate(parse_expression(text, "f", {}).value());
  return value ? text_of(*value) : value.error().front().message;
}

TEST(StudyScope, StepsOfARooflineHaveBothSidesOfTheirPhases) {
  EXPECT_EQ(asked("step(\"v1\", decodes=[1024]).us == round(step(\"v1\", decodes=[1024]).us)"),
            "true");
  EXPECT_EQ(asked("step(\"v1\", prefills=[[512, 256]]).prefill.memory > 0"), "true");
  EXPECT_EQ(asked("step(\"kernel\", decodes=[1024] * 8).us > "
                  "step(\"kernel\", decodes=[1024] * 8, gpu=\"h200\").us"),
            "true");
  EXPECT_EQ(
      asked("step(\"kernel\", decodes=[1024], tp=2).us < step(\"kernel\", decodes=[1024]).us"),
      "true");
}

TEST(StudyScope, RunsGiveTheResultOfRun) {
  EXPECT_EQ(asked("run(\"kernel\", {\"workload.request_rate\": 2}).summary.completed"), "10");
  EXPECT_EQ(asked("run(\"kernel\", {\"workload.request_rate\": 2}).config.engine.max_num_seqs"),
            "4");
  EXPECT_THAT(asked("run(\"kernel\", {\"workload.request_rat\": 2})"), HasSubstr("request_rat"));
}

TEST(StudyScope, SaysWhatACallLacks) {
  EXPECT_THAT(asked("step(\"v1\")"), HasSubstr("found no requests, expected decodes=[...]"));
  EXPECT_THAT(asked("step(\"v1\", decodes=[1], gpu=4)"), HasSubstr("found 4 for gpu"));
  EXPECT_THAT(asked("step(\"v1\", prefills=[\"a\"])"), HasSubstr("expected its tokens"));
  EXPECT_THAT(asked("step(\"v1\", decodes=[1], model=\"lama\")"), HasSubstr("lama"));
  EXPECT_THAT(asked("lookup(\"v1\", 1, 64)"), HasSubstr("expected an arm that looks MFUs up"));
  EXPECT_THAT(asked("runs"), HasSubstr("measured runs"));
  EXPECT_THAT(asked("gain([], \"v1\", \"kernel\", \"speed\")"), HasSubstr("expected \"tpot\""));
}

}  // namespace
}  // namespace ridgeline::studies
