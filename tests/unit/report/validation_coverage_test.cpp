#include "report/validation_coverage.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "accuracy/bands.hpp"
#include "document/json_writer.hpp"
#include "evidence/validate/error_bands.hpp"

namespace ridgeline::report {
namespace {

using evidence::validate::Coverage;
using evidence::validate::CoverageBy;
using ::testing::HasSubstr;

Coverage one_row() {
  return {.by = CoverageBy::kLeftOut,
          .deployments = 62,
          .rows = {{.metric = accuracy::Metric::kTpot,
                    .slice = "vllm, closed",
                    .fitted = false,
                    .groups = 62,
                    .records = 216,
                    .inside_p90_pct = 89.1,
                    .inside_p90_records_pct = 92.7,
                    .inside_p50_pct = 48.8,
                    .inside_p50_records_pct = 49.3,
                    .median_half_width_pct = 61.6}}};
}

TEST(ValidationCoverage, EveryFaceHasTheSameRow) {
  EXPECT_THAT(coverage_text(one_row()), HasSubstr("tpot               vllm, closed   unseen"));
  EXPECT_THAT(coverage_text(one_row()), HasSubstr("89 / 93"));
  EXPECT_THAT(coverage_markdown(one_row()),
              HasSubstr("| tpot | vllm, closed | unseen | 62 | 216 | 89 / 93 | 49 / 49 | 62 |\n"));
  EXPECT_THAT(coverage_html(one_row()),
              HasSubstr("<tr><td>tpot</td><td>vllm, closed</td><td>unseen</td><td>62</td>"));
  document::JsonWriter json;
  write_coverage(json, one_row());
  EXPECT_THAT(json.text(), HasSubstr("\"inside_p90_pct\": 89.1"));
}

TEST(ValidationCoverage, TooFewDeploymentsAreSaidEverywhere) {
  const Coverage none{.by = CoverageBy::kLeftOut, .deployments = 4, .rows = {}};
  for (const std::string& text :
       {coverage_text(none), coverage_markdown(none), coverage_html(none)}) {
    EXPECT_THAT(text, HasSubstr("a band needs 20 deployments"));
    EXPECT_THAT(text, HasSubstr("these records are of 4"));
  }
  EXPECT_THAT(coverage_text({}), HasSubstr("none: no record tells"));
}

}  // namespace
}  // namespace ridgeline::report
