#include "lab/scoring/left_out_bands.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/validate/coverage.hpp"
#include "lab/scoring/evidence_words.hpp"
#include "latency/accuracy/bands.hpp"
#include "support/scored_record.hpp"

namespace ridgeline::scoring {
namespace {

using test::scored_record;

std::vector<ScoredRecord> records_of(int deployments, const std::string& family = "t3-own") {
  std::vector<ScoredRecord> records;
  for (int i = 0; i < deployments; ++i) {
    records.push_back(scored_record(i, i - deployments / 2.0, family));
    records.push_back(scored_record(i, i - deployments / 2.0, family));
  }
  return records;
}

TEST(ErrorBands, AreOfDeploymentsEnoughThatTaughtTheModelNothing) {
  EXPECT_TRUE(error_bands(records_of(19)).bands.empty());
  const auto found = error_bands(records_of(20));
  EXPECT_TRUE(found.fitted.empty());
  ASSERT_FALSE(found.bands.empty());
  const accuracy::Band& first = found.bands.front();
  EXPECT_EQ(first.slice, "vllm, open");
  EXPECT_EQ(first.metric, accuracy::Metric::kTpot);
  EXPECT_EQ(first.groups, 20);
  EXPECT_EQ(first.records, 40);
  EXPECT_FALSE(first.fitted);
}

TEST(ErrorBands, DeploymentsThatTaughtTheModelAreApart) {
  auto records = records_of(20, "trainval");
  const auto unseen = records_of(41);
  records.insert(records.end(), unseen.begin(), unseen.end());
  const auto found = error_bands(records);
  EXPECT_EQ(found.fitted.size(), 20U);
  for (const accuracy::Band& band : found.bands) {
    // A deployment of both is known.
    EXPECT_EQ(band.groups, band.fitted ? 20 : 21) << band.slice;
    EXPECT_EQ(band.records, band.fitted ? 80 : 42) << band.slice;
  }
}

TEST(Coverage, OfDeploymentsLeftOutIsWhatTheBandsSay) {
  const auto found = coverage_left_out(records_of(60));
  const auto& rows = found.rows;
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows.front().slice, "every slice");
  EXPECT_EQ(rows.front().groups, 60);
  EXPECT_EQ(rows.front().records, 120);
  EXPECT_NEAR(rows.front().inside_p90_pct, 92.0, 5.0);
  EXPECT_NEAR(rows.front().inside_p50_pct, 50.0, 7.0);
  EXPECT_GT(rows.front().median_half_width_pct, 20.0);
  EXPECT_LT(rows.front().median_half_width_pct, 35.0);
}

TEST(Coverage, OneDeploymentLeftOutOfTwentyLeavesTooFew) {
  const auto few = coverage_left_out(records_of(20));
  EXPECT_TRUE(few.rows.empty());
  EXPECT_THAT(few.none, ::testing::HasSubstr("these records are of 20"));
  EXPECT_FALSE(coverage_left_out(records_of(21)).rows.empty());
}

TEST(BandsLeftOut, AreWithoutTheDeploymentAndOfEveryOneThatIsPredicted) {
  auto records = records_of(25);
  records.push_back(scored_record(99, 0.0));
  records.back().standing = Standing::kSaturated;
  const auto found = bands_left_out(records);
  EXPECT_EQ(found.size(), 26U);
  for (const auto& [deployment, bands] : found) {
    ASSERT_FALSE(bands.bands.empty());
    EXPECT_EQ(bands.bands.front().groups, deployment.back() == "network-99" ? 25 : 24);
  }
}

}  // namespace
}  // namespace ridgeline::scoring
