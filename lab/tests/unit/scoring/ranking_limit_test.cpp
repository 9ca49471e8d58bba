#include "lab/scoring/ranking_limit.hpp"

#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/scoring/ranking.hpp"

namespace ridgeline::scoring {
namespace {

TEST(RankingLimit, NamesAShareAndAConfidence) {
  const RankingLimit limit = read_ranking_limit("regret@0.9=2").value();
  EXPECT_EQ(limit.of, "regret");
  EXPECT_EQ(limit.confidence, 0.9);
  EXPECT_EQ(limit.limit, 2.0);
  for (const char* wrong : {"luck@0.5=1", "regret@0.7=1", "regret@0.5", "violations@0.5=-1"}) {
    EXPECT_FALSE(read_ranking_limit(wrong).has_value()) << wrong;
  }
}

TEST(RankingLimit, IsMissedAboveItAndWhereNothingWasPicked) {
  Ranking ranking;
  ranking.by_confidence.push_back(
      {.confidence = 0.5, .groups = {}, .all = {.group = "all", .picks = 4, .violations = 1}});
  const std::vector<RankingLimit> limits = {read_ranking_limit("violations@0.5=20").value()};
  const auto over = missed(limits, ranking);
  ASSERT_EQ(over.size(), 1U);
  EXPECT_THAT(over.front().message, ::testing::HasSubstr("25.00 %, expected up to 20 %"));
  EXPECT_TRUE(missed({read_ranking_limit("violations@0.5=25").value()}, ranking).empty());
  EXPECT_THAT(missed(limits, std::nullopt).front().message, ::testing::HasSubstr("--ranking"));
  EXPECT_EQ(missed({read_ranking_limit("regret@0.9=1").value()}, ranking).size(), 1U);
}

}  // namespace
}  // namespace ridgeline::scoring
