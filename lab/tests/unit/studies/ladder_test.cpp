#include "lab/studies/ladder.hpp"

#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include "lab/records/campaign.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/llmd.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

/// Two instances of an 8B network, light load.
Campaign small_campaign() {
  return {.id = "small",
          .model = "llama-3.1-8b",
          .tensor_parallel_size = 1,
          .instances = 2,
          .kv_tokens = 100'000,
          .poisson = false,
          .groups = 3,
          .prompts_per_group = 2,
          .system_tokens = 320,
          .question_tokens = 64,
          .output_tokens = 20,
          .stages = {{.rate = 2.0, .seconds = 5.0}, {.rate = 4.0, .seconds = 5.0}},
          .strategies = {{.name = "chance",
                          .settings = {{.path = "cluster.router.name", .text = "random"}}},
                         {.name = "no such",
                          .settings = {{.path = "cluster.router.name", .text = "crystal-ball"}}}},
          .measured = {}};
}

MeasuredStage row_at(double rate, double tokens_per_s) {
  return {.strategy = "chance",
          .rate = rate,
          .arrivals_per_s = rate,
          .output_tokens_per_s = tokens_per_s,
          .ttft_mean_s = 0.1,
          .ttft_p90_s = 0.1,
          .itl_mean_s = 0.01};
}

// A light load's throughput is its tokens over arrivals and one answer.
TEST(Ladder, MeasuresThroughputFromTheFirstArrivalToTheLastAnswer) {
  const Campaign campaign = small_campaign();
  const auto stages = simulate_ladder(campaign, campaign.strategies.front(), 1);
  ASSERT_TRUE(stages);
  ASSERT_EQ(stages->size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const LadderStage& stage = (*stages)[i];
    const double count = campaign.stages[i].rate * campaign.stages[i].seconds;
    EXPECT_EQ(stage.requests, static_cast<std::int64_t>(count));
    const double answer = stage.ttft_mean_s + 19.0 * stage.tpot_mean_s;
    const double last = (count - 1.0) / campaign.stages[i].rate;
    EXPECT_NEAR(stage.output_tokens_per_s, 20.0 * count / (last + answer), 1.0);
  }
  EXPECT_GT((*stages)[1].cached_share, (*stages)[0].cached_share);
}

Outcome judged(const Campaign& campaign) {
  const Study study = study_llmd_73();
  const StudyOptions options;
  return judge_campaign(campaign, Lab(study, options)).value();
}

TEST(JudgeCampaign, IsConfirmedByItsOwnPredictionsAndNotByOthers) {
  Campaign campaign = small_campaign();
  const auto stages = simulate_ladder(campaign, campaign.strategies.front(), 1);
  campaign.measured = {row_at(4.0, (*stages)[1].output_tokens_per_s)};
  const Outcome right = judged(campaign);
  EXPECT_EQ(right.by_rule, Verdict::kConfirmed);
  ASSERT_EQ(right.skipped.size(), 1U);
  EXPECT_EQ(right.skipped.front().part, "no such");
  EXPECT_EQ(right.skipped.front().needs, "a router crystal-ball");
  campaign.measured.front().output_tokens_per_s *= 2.0;
  EXPECT_EQ(judged(campaign).by_rule, Verdict::kPartlyConfirmed);
}

// Measured the other way round than the two are predicted, and half as fast.
TEST(JudgeCampaign, IsRefutedWhereOrderAndThroughputAreWrong) {
  Campaign campaign = small_campaign();
  campaign.strategies[1] = {.name = "turns",
                            .settings = {{.path = "cluster.router.name", .text = "round-robin"}}};
  const auto chance = simulate_ladder(campaign, campaign.strategies[0], 1);
  const auto turns = simulate_ladder(campaign, campaign.strategies[1], 1);
  const double slower = 0.5 * (*chance)[1].output_tokens_per_s;
  const bool turns_win = (*turns)[1].output_tokens_per_s > (*chance)[1].output_tokens_per_s;
  campaign.measured = {row_at(4.0, turns_win ? 1.2 * slower : slower),
                       row_at(4.0, turns_win ? slower : 1.2 * slower)};
  campaign.measured[1].strategy = "turns";
  EXPECT_EQ(judged(campaign).by_rule, Verdict::kRefuted);
}

}  // namespace
}  // namespace ridgeline::studies
