#include "lab/pages/records.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/node_json.hpp"
#include "evidence/validate/validate.hpp"
#include "evidence/validate/validation_tree.hpp"
#include "lab/scoring/findings.hpp"
#include "lab/scoring/left_out_bands.hpp"
#include "lab/scoring/ranking.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"
#include "support/small_validation.hpp"

namespace ridgeline::report {
namespace {

TextStyle plain() {
  TextStyle style;
  style.ascii = true;
  return style;
}

scoring::Ranking some_ranking() {
  scoring::Ranking ranking;
  scoring::RankingRow row{.group = "net fp8 1024x128",
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

document::Node tree_of(const scoring::Findings& findings) {
  return records_tree(evidence::validate::validation_tree(test::small_validation()), findings);
}
document::Node tree_of(const scoring::Ranking& ranking) {
  return tree_of(scoring::Findings{.ranking = ranking});
}
std::string shown(const document::Node& tree, Face face) {
  const verbs::AddedSections sections = records_sections(tree, face, plain());
  return sections.behind_peers + sections.behind_coverage;
}

TEST(Records, TheTableHasRegretAndBrokenLimits) {
  const std::string text = shown(tree_of(some_ranking()), Face::kTerminal);
  EXPECT_THAT(text, ::testing::HasSubstr("ranking at 90 %"));
  EXPECT_THAT(text, ::testing::HasSubstr("net fp8 1024x128"));
  EXPECT_THAT(text, ::testing::HasSubstr("2 (7)"));
  EXPECT_THAT(text, ::testing::HasSubstr("5.0 % of the picks break a limit"));
  EXPECT_THAT(text, ::testing::HasSubstr("off"));
  EXPECT_THAT(text, ::testing::HasSubstr("how sure: by error bands of the other deployments\n"));
  EXPECT_THAT(shown(tree_of(some_ranking()), Face::kMarkdown),
              ::testing::HasSubstr("| 1.50 / 3.0 / 9.0 | 2 (7) |"));
  EXPECT_THAT(shown(tree_of(some_ranking()), Face::kMarkdown),
              ::testing::HasSubstr("| 95 to 100 | 40 | 97.0 | 80.0 | 7 | 85.0 |"));
}

TEST(Records, SaysWhoseBandsJudgeAndWhatHasNone) {
  auto ranking = some_ranking();
  ranking.by = scoring::BandsOf::kShipped;
  ranking.without_band = 3;
  const std::string text = shown(tree_of(ranking), Face::kTerminal);
  EXPECT_THAT(text, ::testing::HasSubstr("too few deployments for their own (20)"));
  EXPECT_THAT(text, ::testing::HasSubstr("3 points without one, never picked"));
  EXPECT_THAT(document::json_text(tree_of(ranking)),
              ::testing::HasSubstr("\"bands\": \"shipped\""));
}

TEST(Records, TheJsonHasAll) {
  const std::string json = document::json_text(tree_of(some_ranking()));
  EXPECT_THAT(json, ::testing::HasSubstr("\"violations_pct\": 5"));
  EXPECT_THAT(json, ::testing::HasSubstr("\"calibrated\": false"));
}

TEST(Records, HaveWhatEachElementIsWorthWhereItWasAsked) {
  EXPECT_EQ(shown(tree_of(scoring::Findings{}), Face::kMarkdown), "");
  const document::Node tree =
      tree_of(scoring::Findings{.ablation = {{.variant = "no network",
                                              .records = 2,
                                              .e2e = scoring::summarise_errors({-3.0, 5.0}),
                                              .ttft = {},
                                              .tpot = {}}}});
  EXPECT_THAT(shown(tree, Face::kMarkdown),
              ::testing::HasSubstr("| no network | 2 | 4.00 / 4.00 | - | - |"));
  EXPECT_THAT(shown(tree, Face::kTerminal), ::testing::HasSubstr("no network"));
  EXPECT_EQ(tree.members()[4].key, "ablation");  // Behind the peers.
}

}  // namespace
}  // namespace ridgeline::report
