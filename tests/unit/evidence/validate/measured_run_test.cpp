#include "evidence/validate/measured_run.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {
namespace {

Evidence record_of(const std::string& run, const std::vector<std::string>& stages) {
  Evidence evidence;
  evidence.run = run;
  for (const auto& name : stages) {
    StageLoad stage;
    stage.name = name;
    stage.requests = 50;
    stage.duration_s = 10.0;
    evidence.stages.push_back(stage);
  }
  return evidence;
}

TEST(MeasuredRun, StagesOfOneRunShareAServer) {
  std::vector<Evidence> evidence = {record_of("a", {"1"}),
                                    record_of("b", {"0"}),
                                    record_of("a", {"0", "1"}),
                                    record_of("a", {"0"})};
  const auto runs = group_runs(evidence);
  ASSERT_EQ(runs.size(), 2U);
  ASSERT_EQ(runs[0].stages.size(), 2U);
  EXPECT_EQ(runs[0].stages[0].name, "0");
  ASSERT_EQ(runs[0].parts.size(), 3U);
  EXPECT_EQ(runs[0].parts[0].first, 1U);
  EXPECT_EQ(runs[0].parts[0].last, 2U);
  EXPECT_EQ(runs[0].parts[1].evidence, 2U);
  EXPECT_EQ(runs[0].parts[1].first, 0U);
  EXPECT_EQ(runs[0].parts[1].last, 2U);
}

TEST(MeasuredRun, StagesSortByNumber) {
  std::vector<Evidence> evidence = {record_of("a", {"10"}), record_of("a", {"9"})};
  const auto runs = group_runs(evidence);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].stages[0].name, "9");
}

TEST(MeasuredRun, OtherServersOtherLoadsAndUnnamedRunsStayApart) {
  std::vector<Evidence> evidence = {record_of("a", {"0"}),
                                    record_of("a", {"0"}),
                                    record_of("a", {"0"}),
                                    record_of("", {"0"}),
                                    record_of("", {"0"})};
  evidence[1].server.max_num_seqs = 4;
  evidence[2].stages[0].requests = 51;
  EXPECT_EQ(group_runs(evidence).size(), 5U);
}

TEST(MeasuredRun, WhatHasAProblemIsInNoRun) {
  std::vector<Evidence> evidence = {record_of("a", {"0"})};
  evidence[0].problem = "odd";
  EXPECT_TRUE(group_runs(evidence).empty());
}

TEST(MeasuredRun, AMissingFirstStageIsAWarmUpWherePromptsRepeat) {
  std::vector<Evidence> evidence = {record_of("a", {"1"}), record_of("b", {"1"})};
  evidence[0].sharing.distinct_prompts = 10;
  const auto runs = group_runs(evidence);
  ASSERT_EQ(runs[0].stages.size(), 2U);
  EXPECT_EQ(runs[0].stages[0].requests, 10);
  EXPECT_DOUBLE_EQ(runs[0].stages[0].duration_s, 2.0);  // at the same 5 a second
  EXPECT_EQ(runs[0].parts[0].first, 1U);
  EXPECT_FALSE(evidence[0].assumed.empty());
  EXPECT_EQ(runs[1].stages.size(), 1U);
}

}  // namespace
}  // namespace ridgeline::evidence::validate
