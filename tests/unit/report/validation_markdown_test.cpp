#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/validate/scores.hpp"
#include "evidence/validate/validate.hpp"
#include "report/validation.hpp"
#include "support/small_validation.hpp"

namespace ridgeline::report {
namespace {

TEST(ValidationMarkdown, HoldsScoresPeersAndAblation) {
  auto validation = test::small_validation();
  const std::string without = validation_markdown(validation);
  EXPECT_THAT(without, ::testing::HasSubstr("| all | all | e2e | mean | 1 | 10.00 | 10.00 |"));
  EXPECT_THAT(without, ::testing::HasSubstr("| other | e2e | mean | 1 | 50.0 | 50.0 | 10.00 |"));
  EXPECT_THAT(without, ::testing::Not(::testing::HasSubstr("worth")));
  validation.ablation.push_back({.variant = "no network",
                                 .records = 2,
                                 .e2e = evidence::validate::summarise_errors({-3.0, 5.0}),
                                 .ttft = {},
                                 .tpot = {}});
  EXPECT_THAT(validation_markdown(validation),
              ::testing::HasSubstr("| no network | 2 | 4.00 / 4.00 | - | - |"));
  EXPECT_THAT(validation_table(validation, {}), ::testing::HasSubstr("no network"));
}

}  // namespace
}  // namespace ridgeline::report
