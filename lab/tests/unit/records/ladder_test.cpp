#include "lab/records/ladder.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "evidence/validate/measured_run.hpp"
#include "lab/records/campaign.hpp"
#include "lab/records/evidence_words.hpp"

namespace ridgeline::records {
namespace {

/// A record of a fleet that tells of these stages, about one of them or, without, all but the
/// first.
Evidence ladder_record(const std::vector<CampaignStage>& stages,
                       std::optional<CampaignStage> stage,
                       std::optional<double> achieved = std::nullopt) {
  Evidence evidence;
  evidence.run = "l";
  evidence.stages.emplace_back().name = "s";
  evidence.fleet.emplace().policy = "random";
  auto ladder = std::make_shared<Ladder>();
  ladder->has_stages = true;
  ladder->campaign.stages = stages;
  ladder->campaign.strategies = {{.name = "random", .settings = {}}};
  ladder->stage = stage;
  ladder->is_made_up = stage && stages.size() == 2;
  ladder->achieved_per_s = achieved;
  evidence.fleet->load = std::move(ladder);
  return evidence;
}

TEST(Ladder, AFleetsLadderIsTheLongestThatARecordKnows) {
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
  const auto* const joined = dynamic_cast<const Ladder*>(runs[0].fleet_load.get());
  ASSERT_NE(joined, nullptr);
  ASSERT_NE(joined->campaign.find("random", 5.0), nullptr);
  EXPECT_EQ(joined->campaign.find("random", 5.0)->arrivals_per_s, 4.9);
  // A stage that no other record knows has a warm-up of its own, and says so.
  EXPECT_EQ(runs[1].parts[0].evidence, 1U);
  EXPECT_EQ(runs[1].num_stages(), 2U);
  EXPECT_EQ(evidence[0].assumed.size(), 0U);
  EXPECT_EQ(evidence[1].assumed.size(), 1U);
}

TEST(Ladder, AWarmUpThatIsMeasuredIsTheFirstStage) {
  const CampaignStage warm{.rate = 5.0, .seconds = 1.0};
  const CampaignStage slow{.rate = 2.0, .seconds = 10.0};
  std::vector<Evidence> evidence = {ladder_record({warm, slow, slow}, warm)};
  const auto runs = group_runs(evidence);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].parts[0].first, 0U);
  EXPECT_EQ(runs[0].parts[0].last, 1U);
}

TEST(Ladder, FleetsOfOtherPoliciesAndSettingsStayApart) {
  const CampaignStage warm{.rate = 5.0, .seconds = 1.0};
  std::vector<Evidence> evidence(4, ladder_record({warm, warm}, std::nullopt));
  evidence[1].fleet->policy = "load";
  evidence[2].stated = {{"cluster.instances", "3"}};
  auto other = std::make_shared<Ladder>(ladder_of(*evidence[3].fleet));
  other->campaign.groups = 4;
  evidence[3].fleet->load = std::move(other);
  EXPECT_EQ(group_runs(evidence).size(), 4U);
  evidence[3].fleet.reset();
  EXPECT_EQ(group_runs(evidence).size(), 4U);
}

}  // namespace
}  // namespace ridgeline::records
