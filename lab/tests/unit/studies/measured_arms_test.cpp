#include "lab/studies/measured_arms.hpp"

#include <cstddef>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/validate.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"
#include "lab/tests/support/collections.hpp"
#include "lab/tests/unit/studies/servers_file.hpp"

namespace ridgeline::studies {
namespace {

using evidence::validate::Figure;

using fixtures::MeasuredFile;
using fixtures::record;

const std::vector<Arm> kTwoArms = {
    {.name = "as it was", .preset = "v1"},
    {.name = "slower", .preset = "v1", .settings = {setting("TOverheadMicros", 5000.0)}}};

// FP8 weights are a network that V1 refuses: such runs do not count.
TEST(MeasuredArms, ScoresTheRunsThatTheFirstArmCanPrice) {
  const MeasuredFile file(record("a", 1, "bf16") + record("b", 4, "bf16") + record("c", 4, "fp8"));
  const auto runs = score_arms(kTwoArms, {.measured = file.path(), .threads = 2});
  ASSERT_TRUE(runs) << core::to_string(runs.error().front());
  ASSERT_EQ(runs->size(), 2U);
  const ScoredRun& one = runs->front();
  EXPECT_EQ(one.group, "made, closed");
  EXPECT_EQ(one.server, "a");
  EXPECT_EQ(one.clients, 1);
  ASSERT_EQ(one.predicted.size(), 2U);
  // A client alone waits 4.5 ms longer for each token: 45 points of 10 ms.
  EXPECT_NEAR(*one.error_pct(1, Figure::kTpot) - *one.error_pct(0, Figure::kTpot), 45.0, 0.5);
  EXPECT_FALSE(one.error_pct(0, Figure::kE2e));
}

TEST(MeasuredArms, DoNotDependOnThreads) {
  const MeasuredFile file(record("a", 2, "bf16") + record("b", 4, "bf16"));
  const auto alone = score_arms(kTwoArms, {.measured = file.path(), .threads = 1});
  const auto many = score_arms(kTwoArms, {.measured = file.path(), .threads = 4});
  ASSERT_TRUE(alone && many);
  ASSERT_EQ(alone->size(), many->size());
  for (std::size_t i = 0; i < alone->size(); ++i) {
    EXPECT_EQ((*alone)[i].predicted, (*many)[i].predicted);
  }
}

// The second study asks something else of a record, and still gets the first prediction.
TEST(ArmPredictions, AreMadeOncePerArm) {
  const MeasuredFile file(record("a", 2, "bf16") + record("b", 4, "bf16"));
  const StudyOptions options{.measured = file.path()};
  auto evidence = evidence::validate::read_evidence(file.path());
  ASSERT_TRUE(evidence);
  ArmPredictions known;
  const auto first = known.predict(*evidence, {1}, kTwoArms[0], options);
  const auto one_of_b = first[0].prediction->figures;
  for (auto& stage : (*evidence)[1].stages) {
    stage.concurrency = 1;
  }
  const auto again = known.predict(*evidence, {0, 1}, kTwoArms[0], options);
  EXPECT_EQ(again[1].prediction->figures, one_of_b);
  EXPECT_NE(again[0].prediction->figures, one_of_b);
  const auto other_arm = known.predict(*evidence, {1}, kTwoArms[1], options);
  EXPECT_NE(other_arm[0].prediction->figures, one_of_b);
}

TEST(ArmPredictions, ChangeNothingWhereTheyAreShared) {
  const MeasuredFile file(record("a", 1, "bf16") + record("b", 4, "bf16"));
  ArmPredictions known;
  const auto alone = score_arms(kTwoArms, {.measured = file.path()});
  for (int study = 0; study < 2; ++study) {
    const auto shared = score_arms(kTwoArms, {.measured = file.path(), .predictions = &known});
    ASSERT_TRUE(alone && shared);
    ASSERT_EQ(shared->size(), alone->size());
    for (std::size_t i = 0; i < alone->size(); ++i) {
      EXPECT_EQ((*shared)[i].predicted, (*alone)[i].predicted);
    }
  }
}

TEST(MeasuredArms, RefuseAFileOfWhichNothingCounts) {
  const MeasuredFile file(record("c", 4, "fp8"));
  const auto runs = score_arms(kTwoArms, {.measured = file.path()});
  ASSERT_FALSE(runs);
  EXPECT_EQ(runs.error().front().field, "--measured");
  EXPECT_THAT(runs.error().front().message, testing::HasSubstr("none of 1 records"));
}

}  // namespace
}  // namespace ridgeline::studies
