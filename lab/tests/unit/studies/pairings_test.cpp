#include "lab/studies/pairings.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/records/campaign.hpp"
#include "lab/studies/ladder.hpp"

namespace ridgeline::studies {
namespace {

/// A warm-up at the rate of a stage that was published, and two more stages.
Campaign three_stages() {
  Campaign campaign;
  campaign.output_tokens = 11;
  campaign.stages = {
      {.rate = 5.0, .seconds = 1.0}, {.rate = 5.0, .seconds = 2.0}, {.rate = 3.0, .seconds = 2.0}};
  campaign.strategies = {{.name = "a", .settings = {}}, {.name = "b", .settings = {}}};
  for (const char* strategy : {"a", "b"}) {
    campaign.measured.push_back({.strategy = strategy,
                                 .rate = 5.0,
                                 .arrivals_per_s = 4.0,
                                 .output_tokens_per_s = 50.0,
                                 .ttft_mean_s = 0.5,
                                 .ttft_p90_s = 1.0,
                                 .itl_mean_s = 0.1});
  }
  return campaign;
}

LadderStage stage(double tokens_per_s, double ttft_p90_s) {
  return {.sent = 8, .requests = 8, .output_tokens_per_s = tokens_per_s, .ttft_p90_s = ttft_p90_s};
}

TEST(Pairings, AreOfPublishedStagesButNotOfTheWarmUp) {
  const Campaign campaign = three_stages();
  const auto pairings = pair_up(campaign,
                                campaign.strategies,
                                {{stage(1.0, 0.0), stage(40.0, 1.0), stage(2.0, 0.0)},
                                 {stage(1.0, 0.0), stage(60.0, 9.0), stage(2.0, 0.0)}});
  ASSERT_EQ(pairings.size(), 2U);
  EXPECT_DOUBLE_EQ(pairings[0].ratio(), 0.8);
  EXPECT_DOUBLE_EQ(pairings[1].ratio(), 1.2);
  EXPECT_TRUE(pairings[0].keeps_up());
  EXPECT_FALSE(pairings[1].keeps_up());
}

TEST(Pairings, TellHowLongAStageTook) {
  const Campaign campaign = three_stages();
  const auto pairings = pair_up(
      campaign, {campaign.strategies[0]}, {{stage(1.0, 0.0), stage(44.0, 1.0), stage(2.0, 0.0)}});
  const auto table = duration_table(campaign, pairings);
  ASSERT_EQ(table.rows.size(), 1U);
  // 8 arrivals at 4 a second, a wait and ten gaps or twenty; 88 tokens, 50 a second.
  EXPECT_DOUBLE_EQ(table.rows[0].find("one_stamp_per_token_s")->as_real(), 4.0);
  EXPECT_DOUBLE_EQ(table.rows[0].find("two_stamps_per_token_s")->as_real(), 5.0);
  EXPECT_DOUBLE_EQ(pairings[0].counted_share(1.0, campaign.output_tokens), 50.0 * 4.0 / 88.0);
}

}  // namespace
}  // namespace ridgeline::studies
