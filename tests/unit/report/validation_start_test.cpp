#include "report/validation_start.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/scores.hpp"
#include "evidence/validate/validate.hpp"
#include "report/palette.hpp"
#include "report/validation.hpp"
#include "support/small_validation.hpp"

namespace ridgeline::report {
namespace {

using evidence::validate::Figure;
using evidence::validate::Level;
using ::testing::HasSubstr;
using ::testing::Not;

evidence::validate::Validation one_start() {
  evidence::validate::Validation validation = test::small_validation();
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

TEST(ValidationStart, PartsStandBesideWhatWasMeasured) {
  const std::string text = starts_text(one_start(), {});
  EXPECT_THAT(text, HasSubstr("torch_compile_s                  20.0         15.0     -25.0"));
  EXPECT_THAT(text, HasSubstr("kv_cache_tokens                 1 000            -         -"));
  EXPECT_THAT(text, Not(HasSubstr("e2e")));
  EXPECT_EQ(starts_text(test::small_validation(), {}), "");
  EXPECT_EQ(starts_markdown(test::small_validation()), "");
}

TEST(ValidationStart, IsPartOfEveryFormat) {
  const auto validation = one_start();
  EXPECT_THAT(validation_table(validation, {}), HasSubstr("starts of servers"));
  EXPECT_THAT(validation_markdown(validation),
              HasSubstr("| cold\\|one | torch_compile_s | 20.0 | 15.0 | -25.0 |"));
  EXPECT_THAT(validation_json(validation), HasSubstr("\"torch_compile_s\""));
  EXPECT_THAT(validation_csv(validation), HasSubstr("torch_compile_s,mean,20,15,-25"));
  EXPECT_THAT(validation_html(validation), HasSubstr("torch_compile_s"));
}

/// A start is on no axis of requests: not at batch 1, not without first requests.
TEST(ValidationStart, IsScoredOnAxesOfServersAlone) {
  for (const auto& row : one_start().scores) {
    if (is_of_start(row.figure)) {
      EXPECT_NE(row.axis, "batch");
      EXPECT_NE(row.axis, "start");
      EXPECT_EQ(row.mean_signed, -25.0);
    }
  }
}

}  // namespace
}  // namespace ridgeline::report
