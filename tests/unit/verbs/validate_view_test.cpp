#include "verbs/validate_view.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/validate/coverage.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/scores.hpp"
#include "evidence/validate/validate.hpp"
#include "evidence/validate/validation_tree.hpp"
#include "latency/accuracy/bands.hpp"
#include "report/table/table.hpp"
#include "support/small_validation.hpp"

namespace ridgeline::verbs {
namespace {

using evidence::validate::Coverage;
using evidence::validate::Figure;
using evidence::validate::Level;
using evidence::validate::Validation;
using test::small_validation;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kPeople = {report::Face::kTerminal, report::Face::kMarkdown, report::Face::kHtml};

std::string shown(const Validation& validation, report::Face face) {
  return validation_text(evidence::validate::validation_tree(validation), face, {});
}

Validation one_start() {
  Validation validation = small_validation();
  evidence::validate::ScoredRecord start;
  start.evidence.id = "cold|one";
  start.evidence.is_start = true;
  start.evidence.measured.at(Figure::kTorchCompile, Level::kMean) = 20.0;
  start.evidence.measured.at(Figure::kKvTokens, Level::kMean) = 1000.0;
  start.prediction.emplace();
  start.prediction->figures.at(Figure::kTorchCompile, Level::kMean) = 15.0;
  validation.records.push_back(start);
  validation.scores = evidence::validate::score(validation.records);
  return validation;
}

TEST(ValidationText, ATerminalNamesOutliersAndWhatWasLeftOut) {
  const std::string table = shown(small_validation(), report::Face::kTerminal);
  EXPECT_THAT(table, HasSubstr("   +10.0 % e2e    a<b,c\n"));
  EXPECT_THAT(table, HasSubstr("unpredicted: no such network"));
  EXPECT_THAT(table,
              HasSubstr("2 records: 1 scored, 0 saturated, 0 contradicted, 1 unpredicted, "
                        "0 unreadable"));
}

TEST(ValidationText, HasTheBoundWhereTheFrontEndDecidesSomeRecord) {
  Validation validation = small_validation();
  for (const report::Face face : kPeople) {
    EXPECT_THAT(shown(validation, face), Not(HasSubstr("front end near")));
  }
  validation.records.front().prediction->front_end_near = true;
  validation.scores = evidence::validate::score(validation.records);
  for (const report::Face face : kPeople) {
    EXPECT_THAT(shown(validation, face), HasSubstr("front end near"));
  }
}

TEST(ValidationText, HasScoresAndPeers) {
  const std::string without = shown(small_validation(), report::Face::kMarkdown);
  EXPECT_THAT(without, HasSubstr("| all | all | e2e | mean | 1 | 10.00 | 10.00 |"));
  EXPECT_THAT(without, HasSubstr("| other | e2e | mean | 1 | 50.0 | 50.0 | 10.00 |"));
  EXPECT_THAT(without, Not(HasSubstr("worth")));
}

TEST(ValidationText, StartsStandPartByPart) {
  const Validation validation = one_start();
  EXPECT_THAT(shown(validation, report::Face::kTerminal),
              HasSubstr("cold|one           kv_cache_tokens     1 000          -         -\n"));
  EXPECT_THAT(shown(validation, report::Face::kMarkdown),
              HasSubstr("| cold\\|one | torch_compile_s | 20.0 | 15.0 | -25.0 |"));
  EXPECT_THAT(shown(validation, report::Face::kCsv), HasSubstr("torch_compile_s,mean,20,15,-25"));
  EXPECT_THAT(shown(validation, report::Face::kHtml), HasSubstr("torch_compile_s"));
  EXPECT_THAT(shown(small_validation(), report::Face::kTerminal),
              Not(HasSubstr("starts of servers")));
  // A start is on no axis of requests: not at batch 1, not without first requests.
  for (const auto& row : validation.scores) {
    if (is_of_start(row.figure)) {
      EXPECT_NE(row.axis, "batch");
      EXPECT_NE(row.axis, "start");
      EXPECT_EQ(row.mean_signed, -25.0);
    }
  }
}

TEST(ValidationText, EveryFaceHasTheRowsOfBands) {
  Validation validation = small_validation();
  validation.coverage = Coverage{.rows = {{.metric = accuracy::Metric::kTpot,
                                           .slice = "vllm, closed",
                                           .fitted = false,
                                           .groups = 62,
                                           .records = 216,
                                           .inside_p90_pct = 89.1,
                                           .inside_p90_records_pct = 92.7,
                                           .inside_p50_pct = 48.8,
                                           .inside_p50_records_pct = 49.3,
                                           .median_half_width_pct = 61.6}}};
  EXPECT_THAT(shown(validation, report::Face::kTerminal),
              HasSubstr("tpot         vllm, closed  unseen"));
  EXPECT_THAT(shown(validation, report::Face::kMarkdown),
              HasSubstr("| tpot | vllm, closed | unseen | 62 | 216 | 89 / 93 | 49 / 49 | 62 |\n"));
  EXPECT_THAT(shown(validation, report::Face::kHtml),
              HasSubstr("<tr><td>tpot</td><td>vllm, closed</td><td>unseen</td><td>62</td>"));
}

TEST(ValidationText, TooFewDeploymentsForBandsAreSaidEverywhere) {
  Validation validation = small_validation();
  validation.coverage = Coverage{.rows = {}, .none = "these records are of 4"};
  for (const report::Face face : kPeople) {
    EXPECT_THAT(shown(validation, face), HasSubstr("one: these records are of 4"));
  }
}

TEST(ValidationText, CsvQuotesAndHtmlEscapes) {
  EXPECT_THAT(shown(small_validation(), report::Face::kCsv), HasSubstr("\"a<b,c\",own"));
  const std::string page = shown(small_validation(), report::Face::kHtml);
  EXPECT_THAT(page, HasSubstr("a&lt;b,c: measured 200, predicted 220, +10.0 %"));
  EXPECT_THAT(page, Not(HasSubstr("a<b")));
}

TEST(ValidationText, NothingScoredIsNoCrash) {
  EXPECT_THAT(shown({}, report::Face::kTerminal), HasSubstr("0 records"));
  EXPECT_THAT(shown({}, report::Face::kHtml), HasSubstr("</html>"));
}

}  // namespace
}  // namespace ridgeline::verbs
