#include "lab/scoring/ablation.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "evidence/validate/prediction.hpp"
#include "lab/scoring/evidence_words.hpp"

namespace ridgeline::scoring {
namespace {

/// A closed loop of one client, measured in round numbers.
Evidence one_loop() {
  Evidence evidence;
  evidence.id = "a";
  evidence.model = "meta-llama/Llama-2-7b-hf";
  evidence.gpu = "H100";
  evidence.engine = "vllm";
  evidence.input = {.law = TokenCounts::Law::kFixed, .mean = 256};
  evidence.output = {.law = TokenCounts::Law::kFixed, .mean = 20};
  StageLoad stage;
  stage.kind = StageLoad::Kind::kClosed;
  stage.name = "0";
  stage.requests = 2;
  stage.concurrency = 1;
  evidence.stages = {stage};
  evidence.closed_loop = true;
  evidence.measured.at(Figure::kTtft, Level::kMean) = 20.0;
  evidence.measured.at(Figure::kTpot, Level::kMean) = 8.0;
  return evidence;
}

TEST(Ablation, TakesOneElementOutAtATime) {
  PredictOptions options;
  options.histories = 1;
  const auto rows = ablate({one_loop()}, options);
  ASSERT_GT(rows.size(), 5U);
  EXPECT_EQ(rows.front().variant, "whole model");
  for (const auto& row : rows) {
    ASSERT_TRUE(row.ttft.has_value()) << row.variant;
    EXPECT_EQ(row.ttft->n, 1) << row.variant;
    // What only the client sees leaves the time between tokens alone.
    if (row.variant == "no network") {
      EXPECT_EQ(row.tpot->mean_abs, rows.front().tpot->mean_abs);
      EXPECT_NE(row.ttft->mean_abs, rows.front().ttft->mean_abs);
    }
  }
}

}  // namespace
}  // namespace ridgeline::scoring
