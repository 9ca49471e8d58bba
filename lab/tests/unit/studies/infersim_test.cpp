#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

TEST(InferSim, TwoHalvesInFlightBeatOneAfterTheOther) {
  const StudyReport report = run_study(study_infersim(), {}).value();
  ASSERT_EQ(report.outcome.tables.size(), 1U);
  for (const document::Node& row : report.outcome.tables.front().rows) {
    const double at_once = row.find("kernel_tokens_per_s")->as_real();
    const double in_turn = row.find("without_overlap_tokens_per_s")->as_real();
    if (row.find("network")->as_string() == "deepseek-v3") {
      // At most twice as fast, when both take the same time; less with multiprocessors given away.
      EXPECT_GT(at_once, in_turn);
      EXPECT_LE(at_once, 2.0 * in_turn);
    } else {
      EXPECT_EQ(at_once, in_turn);
    }
  }
}

/// Products alone take longer than this would.
TEST(InferSim, NoThroughputBeyondThePeak) {
  const StudyReport report = run_study(study_infersim(), {}).value();
  for (const document::Node& row : report.outcome.tables.front().rows) {
    if (row.find("network")->as_string() == "qwen3-8b-fp8") {
      // 6.95e9 weights in layers, two FLOPs each and token, at 296 TFLOP/s: 21,290 tokens a second.
      EXPECT_LT(row.find("kernel_tokens_per_s")->as_real(), 21'290.0);
    }
  }
}

}  // namespace
}  // namespace ridgeline::studies
