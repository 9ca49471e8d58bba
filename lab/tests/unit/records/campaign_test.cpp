#include "lab/records/campaign.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"

namespace ridgeline::records {
namespace {

std::string problems_of(const std::string& yaml) {
  const auto campaigns = read_campaigns(document::parse_yaml(yaml, "c.yaml").value());
  if (campaigns) {
    return "";
  }
  std::string all;
  for (const core::Error& error : campaigns.error()) {
    all += core::to_string(error) + "\n";
  }
  return all;
}

std::string campaign_with(const std::string& stages, const std::string& rows) {
  return "campaigns:\n- {id: a, model: m, tensor_parallel_size: 1, instances: 2, kv_tokens: 100, "
         "gateway_requests: 9, "
         "poisson: true, groups: 2, prompts_per_group: 1, system_tokens: 5, question_tokens: 5, "
         "output_tokens: 5, stages: " +
         stages +
         ", strategies: [{name: s, settings: {cluster.router.name: random}}], columns: [strategy, "
         "rate, requests_per_s, output_tokens_per_s, ttft_mean_s, ttft_p90_s, itl_mean_s], rows: " +
         rows + "}\n";
}

TEST(Campaign, IsReadWithItsRows) {
  const auto campaigns = read_campaigns(
      document::parse_yaml(campaign_with("[[3, 20]]", "[[s, 3, 2.9, 50, 0.1, 0.2, 0.01]]"), "c")
          .value());
  ASSERT_TRUE(campaigns);
  const Campaign& one = campaigns->front();
  EXPECT_DOUBLE_EQ(one.stages.front().seconds, 20.0);
  EXPECT_EQ(one.gateway_requests, 9);
  EXPECT_EQ(one.strategies.front().settings.front().text, "random");
  ASSERT_NE(one.find("s", 3.0), nullptr);
  EXPECT_DOUBLE_EQ(one.find("s", 3.0)->arrivals_per_s, 2.9);
  EXPECT_DOUBLE_EQ(one.find("s", 3.0)->itl_mean_s, 0.01);
  EXPECT_EQ(one.find("s", 4.0), nullptr);
  EXPECT_EQ(one.find("t", 3.0), nullptr);
}

TEST(Campaign, ARateThatWasAchievedTakesThePlaceOfAnother) {
  Campaign campaign;
  campaign.set_arrivals("s", 3.0, 2.9);
  campaign.set_arrivals("t", 3.0, 2.8);
  campaign.set_arrivals("s", 3.0, 3.1);
  ASSERT_NE(campaign.find("s", 3.0), nullptr);
  EXPECT_DOUBLE_EQ(campaign.find("s", 3.0)->arrivals_per_s, 3.1);
  EXPECT_DOUBLE_EQ(campaign.find("t", 3.0)->arrivals_per_s, 2.8);
  EXPECT_EQ(campaign.measured.size(), 2U);
}

TEST(Campaign, ThePublishedOnesHaveNamesOfTheirOwn) {
  const auto campaigns = published_campaigns();
  ASSERT_GE(campaigns.size(), 2U);
  EXPECT_NE(campaigns[0].id, campaigns[1].id);
  EXPECT_EQ(published_campaign(campaigns[1].id).model, campaigns[1].model);
}

TEST(Campaign, NamesWhatItCannotRead) {
  EXPECT_THAT(problems_of(campaign_with("[[3]]", "[[s, 3, 3, 50, 0.1, 0.2, 0.01]]")),
              testing::HasSubstr("stages: found"));
  EXPECT_THAT(problems_of(campaign_with("[[3, 20]]", "[[s, 3, 3, 0, 0.1, 0.2, 0.01]]")),
              testing::HasSubstr("rows: found"));
  EXPECT_THAT(problems_of(campaign_with("[[3, 20]]", "[]")),
              testing::HasSubstr("rows: expected a list that is not empty"));
}

TEST(Campaign, ThePublishedOnesHaveRowsOfTheirStrategies) {
  for (const char* id : {"llmd-37", "llmd-73"}) {
    const Campaign campaign = published_campaign(id);
    ASSERT_EQ(campaign.strategies.size(), 4U);
    for (const MeasuredStage& row : campaign.measured) {
      // Three rates of the smaller campaign are published without the approximate strategy.
      const bool is_whole = campaign.find("approximate", row.rate) != nullptr;
      EXPECT_TRUE(is_whole || row.rate == 4.0 || row.rate == 6.0 || row.rate == 8.0) << row.rate;
      for (const char* strategy : {"precise", "load", "random"}) {
        EXPECT_NE(campaign.find(strategy, row.rate), nullptr) << id << ' ' << row.rate;
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline::records
