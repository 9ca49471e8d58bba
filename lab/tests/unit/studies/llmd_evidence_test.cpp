#include "lab/studies/llmd_evidence.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/records/campaign.hpp"
#include "lab/studies/ladder.hpp"
#include "lab/studies/pairings.hpp"

namespace ridgeline::studies {
namespace {

// 100 requests at 10 a second, 0.5 s to the first token, 50 gaps of 0.1 s with two stamps each:
// 20.5 s for 5,100 tokens.
TEST(LlmdEvidence, FindsTheNumberOfStampsThatAccountsForTheTokens) {
  const MeasuredStage row{.strategy = "a",
                          .rate = 10.0,
                          .arrivals_per_s = 10.0,
                          .output_tokens_per_s = 5100.0 / 20.5,
                          .ttft_mean_s = 0.5,
                          .ttft_p90_s = 0.5,
                          .itl_mean_s = 0.1};
  const std::vector<Pairing> pairings = {
      {.measured = &row,
       .predicted = {.sent = 100, .requests = 100, .ttft_p90_s = 0.5, .tpot_mean_s = 0.1}}};
  Campaign campaign;
  campaign.output_tokens = 51;
  EXPECT_DOUBLE_EQ(step_factor(pairings), 2.0);
  const std::string found = evidence_of(campaign, pairings);
  EXPECT_THAT(found, testing::HasSubstr("1.00 to 1.00 of the published tokens"));
  EXPECT_THAT(found, testing::Not(testing::HasSubstr("Envoy")));
  // 60 of 100 requests at a time: three in five of their tokens.
  campaign.gateway_requests = 60;
  EXPECT_THAT(evidence_of(campaign, pairings), testing::HasSubstr("Stages of more than 60"));
}

}  // namespace
}  // namespace ridgeline::studies
