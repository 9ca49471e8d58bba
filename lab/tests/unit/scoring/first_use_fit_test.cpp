#include "lab/scoring/first_use_fit.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/measured_run.hpp"
#include "evidence/validate/prediction.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scoring {
namespace {

PredictOptions once(std::vector<scenario::Override> overrides = {}) {
  PredictOptions options;
  options.histories = 1;
  options.overrides = std::move(overrides);
  return options;
}

/// The first requests of servers, "measured" as the model says with these stalls.
std::vector<Evidence> first_requests(const std::vector<scenario::Override>& truth) {
  std::vector<Evidence> all;
  for (const char* model : {"mixtral-8x7b", "qwen3-30b-a3b", "llama-3.1-8b"}) {
    Evidence evidence;
    evidence.id = model;
    evidence.model = model;
    evidence.gpu = "h200";
    evidence.engine_version = "vllm@0.15";
    evidence.stage = "first40";
    evidence.server.max_num_seqs = 64;
    evidence.server.max_model_len = 4096;
    evidence.server.max_num_batched_tokens = 2048;
    evidence.input = {
        .law = TokenCounts::Law::kUniform, .mean = 900, .lowest = 600, .highest = 1200};
    evidence.output = {.law = TokenCounts::Law::kFixed, .mean = 20};
    StageLoad stage;
    stage.name = "0";
    stage.requests = 40;
    stage.duration_s = 40.0;
    evidence.stages = {stage};
    all.push_back(std::move(evidence));
  }
  const auto runs = group_runs(all);
  const auto predictions = predict(all, runs, once(truth));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].measured = predictions[i].prediction.value().figures;
  }
  return all;
}

TEST(FirstUseFit, FindsWhatStallsWereMeasuredWith) {
  const auto evidence = first_requests({{.path = "serving.first_use_stalls", .text = "true"},
                                        {.path = "serving.first_use_time", .text = "0.5s"},
                                        {.path = "serving.first_use_ranges", .text = "32"}});
  const auto rows = leave_out_first_uses(evidence, once()).value();
  ASSERT_EQ(rows.size(), 4U);  // On all, and without each of three networks.
  EXPECT_EQ(rows[0].value, kNothingLeftOut);
  EXPECT_EQ(rows[0].records, 3);
  for (const auto& row : rows) {
    EXPECT_EQ(row.fitted, "first_use_time=0.500s, first_use_ranges=32") << row.value;
    EXPECT_NEAR(row.unseen[1].value().mean_abs, 0.0, 1e-9) << row.value;
  }
  EXPECT_EQ(rows[1].value, "mixtral-8x7b");
  EXPECT_GT(rows[1].seen[1].value().mean_abs, 1.0) << "the constants as they are are others";
  EXPECT_NEAR(rows[3].seen[1].value().mean_abs, 0.0, 1e-9) << "a dense network has no stalls";
}

TEST(FirstUseFit, OthersThatDoNotStallTellOfNoStall) {
  auto evidence = first_requests({});
  evidence.erase(evidence.begin() + 1);  // One network of experts, and a dense one.
  const auto rows = leave_out_first_uses(evidence, once()).value();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].value, "mixtral-8x7b");
  EXPECT_EQ(rows[1].fitted, "no stall");
}

TEST(FirstUseFit, OtherRecordsAreNoFirstRequests) {
  auto evidence = first_requests({});
  for (Evidence& record : evidence) {
    record.stage = "0";
  }
  EXPECT_FALSE(leave_out_first_uses(evidence, once()).has_value());
}

}  // namespace
}  // namespace ridgeline::scoring
