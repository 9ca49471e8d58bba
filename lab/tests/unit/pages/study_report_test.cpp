#include "lab/pages/study_report.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;

studies::Study example_study() {
  return {.id = "x1",
          .title = "A title",
          .claim = "A claim.",
          .arms = {{.name = "a", .preset = "v1", .settings = {studies::setting("mfuDecode", 0.2)}}},
          .held_fixed = "all",
          .refuted_if = "b",
          .controls = "c",
          .published = studies::Verdict::kConfirmed,
          .scope = "d",
          .not_tested = "e"};
}

studies::StudyReport example_study_report(const studies::Study& study) {
  studies::StudyReport report;
  report.study = &study;
  report.outcome.tables = {
      {"times", {studies::row("us", 12.5, "kv", std::vector<std::int64_t>{1, 2})}}, {"none", {}}};
  report.outcome.by_rule = studies::Verdict::kRefuted;
  report.outcome.because = "12.5 us";
  report.outcome.finding = "Found.";
  report.outcome.skipped = {{.part = "on servers", .needs = "--measured FILE"}};
  report.warnings = {{.code = "W-circular-reference", .message = "m", .hint = "h"}};
  return report;
}

TEST(StudyReport, APageHasSentencesAndTables) {
  const studies::Study study = example_study();
  const std::string page = studies_html({example_study_report(study)});
  EXPECT_THAT(page, HasSubstr("<h2>x1: A title</h2>"));
  EXPECT_THAT(
      page, HasSubstr("<p><b>Verdict by its own rule.</b> refuted: 12.5 us. (Refuted if b.)</p>"));
  EXPECT_THAT(page, HasSubstr("<h3>times</h3>"));
  EXPECT_THAT(page, HasSubstr("12.5"));
  EXPECT_THAT(page, HasSubstr("<h3>none</h3>\n<p>none</p>"));
}

TEST(StudyReport, TreeHasBothVerdictsAndTablesByName) {
  const studies::Study study = example_study();
  const document::Node tree = study_tree(example_study_report(study));
  EXPECT_EQ(tree.find("verdict_published")->as_string(), "confirmed");
  EXPECT_EQ(tree.find("verdict_by_rule")->as_string(), "refuted");
  const document::Node& row = tree.find("tables")->find("times")->items().front();
  EXPECT_DOUBLE_EQ(row.find("us")->as_real(), 12.5);
  EXPECT_TRUE(tree.find("tables")->find("none")->items().empty());
  EXPECT_EQ(tree.find("skipped")->items().front().find("needs")->as_string(), "--measured FILE");
  EXPECT_EQ(studies_tree({example_study_report(study)}).find("studies")->items().size(), 1U);
}

TEST(StudyReport, MarkdownShowsClaimVerdictsWarningsAndTables) {
  const studies::Study study = example_study();
  const std::string text = study_markdown(example_study_report(study));
  EXPECT_THAT(text, HasSubstr("# x1: A title"));
  EXPECT_THAT(text, HasSubstr("**Published verdict.** confirmed"));
  EXPECT_THAT(text, HasSubstr("refuted: 12.5 us. (Refuted if b.)"));
  EXPECT_THAT(text, HasSubstr("> skipped: on servers: needs --measured FILE"));
  EXPECT_THAT(text, HasSubstr("> warning W-circular-reference: m - h"));
  EXPECT_THAT(text, HasSubstr("| us | kv |\n|---|---|\n| 12.5 | 1 2 |\n"));
}

}  // namespace
}  // namespace ridgeline::report
