#include "verbs/validate_groups.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "evidence/validate/client_load.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/validate.hpp"
#include "support/small_validation.hpp"
#include "verbs/measured_files.hpp"

namespace ridgeline::verbs {
namespace {

TEST(ValidateGroups, CrossedAxesHaveRowsOfTheirOwn) {
  evidence::validate::Validation validation = test::small_validation();
  const auto before = validation.scores.size();
  add_asked({.by = {"family", "phase"}}, validation);
  EXPECT_EQ(validation.by, "family, phase");
  ASSERT_GT(validation.scores.size(), before);
  EXPECT_EQ(validation.scores.back().axis, "family, phase");
  EXPECT_EQ(validation.scores.back().value, "own, unknown");
}

TEST(ValidateGroups, HisWordsChangeTheRecordsAndTheServer) {
  MeasuredJob job;
  evidence::validate::Evidence record;
  record.stages.push_back(
      evidence::validate::open_load(20.0, 10.0, evidence::validate::StageLoad::Kind::kEven));
  record.measured.at(evidence::validate::Figure::kTtft, evidence::validate::Level::kMean) = 5.0;
  record.measured.at(evidence::validate::Figure::kTpot, evidence::validate::Level::kMean) = 2.0;
  record.output.mean = 11.0;
  job.evidence.push_back(record);
  AskedGroups asked{.by = {"phase"}, .max_prompts = 4, .vllm_version = "0.11.0"};
  apply_groups(asked, job);
  EXPECT_EQ(asked.derived_e2e, 1);
  EXPECT_EQ(job.evidence[0].stages[0].requests, 4);
  EXPECT_DOUBLE_EQ(job.evidence[0].stages[0].duration_s, 2.0);
  EXPECT_DOUBLE_EQ(*job.evidence[0].measured.at(evidence::validate::Figure::kE2e,
                                                evidence::validate::Level::kMean),
                   25.0);
  ASSERT_EQ(job.options.overrides.size(), 1U);
  EXPECT_EQ(job.options.overrides[0].text, "vllm@0.11.0");
}

}  // namespace
}  // namespace ridgeline::verbs
