#include "verbs/validate_ranking.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/node_json.hpp"
#include "evidence/validate/error_bands.hpp"
#include "evidence/validate/ranking.hpp"
#include "evidence/validate/validate.hpp"
#include "evidence/validate/validation_tree.hpp"
#include "report/palette.hpp"

namespace ridgeline::verbs {
namespace {

report::TextStyle plain() {
  report::TextStyle style;
  style.ascii = true;
  return style;
}

evidence::validate::Ranking some_ranking() {
  evidence::validate::Ranking ranking;
  evidence::validate::RankingRow row{.group = "net fp8 1024x128",
                                     .points = 10,
                                     .deployments = 2,
                                     .picks = 40,
                                     .violations = 2,
                                     .worst_over_pct = 7.0,
                                     .mean_regret_pct = 1.5,
                                     .p90_regret_pct = 3.0,
                                     .max_regret_pct = 9.0,
                                     .one_sided = 4};
  ranking.by_confidence.push_back({.confidence = 0.9, .groups = {row}, .all = row});
  ranking.bins[5] = {.from = 0.95,
                     .to = 1.0,
                     .picks = 40,
                     .deployments = 7,
                     .said = 0.97,
                     .held = 0.80,
                     .held_by_deployment = 0.85};
  return ranking;
}

TEST(ValidationRanking, TheTableHasRegretAndBrokenLimits) {
  const std::string text = ranking_text(some_ranking(), plain());
  EXPECT_THAT(text, ::testing::HasSubstr("ranking at 90 %"));
  EXPECT_THAT(text, ::testing::HasSubstr("net fp8 1024x128"));
  EXPECT_THAT(text, ::testing::HasSubstr("2 (7)"));
  EXPECT_THAT(text, ::testing::HasSubstr("5.0 % of the picks break a limit"));
  EXPECT_THAT(text, ::testing::HasSubstr("off"));
  EXPECT_THAT(text, ::testing::HasSubstr("how sure: by error bands of the other deployments\n"));
  EXPECT_THAT(ranking_markdown(some_ranking()),
              ::testing::HasSubstr("| 1.50 / 3.0 / 9.0 | 2 (7) |"));
  EXPECT_THAT(ranking_markdown(some_ranking()),
              ::testing::HasSubstr("| 95 to 100 | 40 | 97.0 | 80.0 | 7 | 85.0 |"));
}

std::string json_of(const evidence::validate::Ranking& ranking) {
  evidence::validate::Validation validation;
  validation.ranking = ranking;
  return document::json_text(evidence::validate::validation_tree(validation));
}

TEST(ValidationRanking, SaysWhoseBandsJudgeAndWhatHasNone) {
  auto ranking = some_ranking();
  ranking.by = evidence::validate::CoverageBy::kShipped;
  ranking.without_band = 3;
  const std::string text = ranking_text(ranking, plain());
  EXPECT_THAT(text, ::testing::HasSubstr("too few deployments for their own (20)"));
  EXPECT_THAT(text, ::testing::HasSubstr("3 points without one, never picked"));
  EXPECT_THAT(json_of(ranking), ::testing::HasSubstr("\"bands\": \"shipped\""));
}

TEST(ValidationRanking, TheJsonHasAll) {
  const std::string json = json_of(some_ranking());
  EXPECT_THAT(json, ::testing::HasSubstr("\"violations_pct\": 5"));
  EXPECT_THAT(json, ::testing::HasSubstr("\"calibrated\": false"));
}

}  // namespace
}  // namespace ridgeline::verbs
