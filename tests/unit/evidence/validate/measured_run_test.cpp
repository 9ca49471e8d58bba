#include "evidence/validate/measured_run.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lab/records/campaign.hpp"
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

/// A record of a fleet that tells of these stages, about one of them or, without, all but the
/// first.
Evidence ladder_record(const std::vector<CampaignStage>& stages,
                       std::optional<CampaignStage> stage,
                       std::optional<double> achieved = std::nullopt) {
  Evidence evidence = record_of("l", {"s"});
  Fleet& fleet = evidence.fleet.emplace();
  fleet.policy = "random";
  fleet.is_ladder = true;
  fleet.campaign.stages = stages;
  fleet.campaign.strategies = {{.name = "random", .settings = {}}};
  fleet.stage = stage;
  fleet.is_made_up = stage && stages.size() == 2;
  fleet.achieved_per_s = achieved;
  return evidence;
}

TEST(MeasuredRun, AFleetsLadderIsTheLongestThatARecordKnows) {
  const CampaignStage warm{.rate = 5.0, .seconds = 1.0};
  const CampaignStage slow{.rate = 2.0, .seconds = 10.0};
  const CampaignStage fast{.rate = 5.0, .seconds = 10.0};
  const CampaignStage other{.rate = 7.0, .seconds = 10.0};
  std::vector<Evidence> evidence = {ladder_record({warm, fast}, fast, 4.9),
                                    ladder_record({warm, other}, other),
                                    ladder_record({warm, slow, fast}, std::nullopt),
                                    ladder_record({warm, slow, fast}, slow)};
  const auto runs = group_runs(evidence);
  ASSERT_EQ(runs.size(), 2U);
  ASSERT_EQ(runs[0].parts.size(), 3U);
  EXPECT_EQ(runs[0].num_stages(), 3U);
  // In the order of the records: at 5/s behind the warm-up, all but the warm-up, at 2/s.
  EXPECT_EQ(runs[0].parts[0].evidence, 0U);
  EXPECT_EQ(runs[0].parts[0].first, 2U);
  EXPECT_EQ(runs[0].parts[1].first, 1U);
  EXPECT_EQ(runs[0].parts[1].last, 3U);
  EXPECT_EQ(runs[0].parts[2].first, 1U);
  EXPECT_EQ(runs[0].parts[2].last, 2U);
  ASSERT_NE(runs[0].campaign->find("random", 5.0), nullptr);
  EXPECT_EQ(runs[0].campaign->find("random", 5.0)->arrivals_per_s, 4.9);
  // A stage that no other record knows has a warm-up of its own, and says so.
  EXPECT_EQ(runs[1].parts[0].evidence, 1U);
  EXPECT_EQ(runs[1].num_stages(), 2U);
  EXPECT_EQ(evidence[0].assumed.size(), 0U);
  EXPECT_EQ(evidence[1].assumed.size(), 1U);
}

TEST(MeasuredRun, AWarmUpThatIsMeasuredIsTheFirstStage) {
  const CampaignStage warm{.rate = 5.0, .seconds = 1.0};
  const CampaignStage slow{.rate = 2.0, .seconds = 10.0};
  std::vector<Evidence> evidence = {ladder_record({warm, slow, slow}, warm)};
  const auto runs = group_runs(evidence);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].parts[0].first, 0U);
  EXPECT_EQ(runs[0].parts[0].last, 1U);
}

TEST(MeasuredRun, FleetsOfOtherPoliciesAndSettingsStayApart) {
  const CampaignStage warm{.rate = 5.0, .seconds = 1.0};
  std::vector<Evidence> evidence(4, ladder_record({warm, warm}, std::nullopt));
  evidence[1].fleet->policy = "load";
  evidence[2].stated = {{"cluster.instances", "3"}};
  evidence[3].fleet->campaign.groups = 4;
  EXPECT_EQ(group_runs(evidence).size(), 4U);
  evidence[3].fleet.reset();
  EXPECT_EQ(group_runs(evidence).size(), 4U);
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
