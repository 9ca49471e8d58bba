#include "lab/scoring/leave_out.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/measured_run.hpp"
#include "evidence/validate/prediction.hpp"

namespace ridgeline::scoring {
namespace {

PredictOptions one_history(std::vector<scenario::Override> overrides = {}) {
  PredictOptions options;
  options.histories = 1;
  options.overrides = std::move(overrides);
  return options;
}

/// Closed loops of a synchronous server, "measured" as the model says with these changes.
std::vector<Evidence> loops_measured_with(const std::vector<scenario::Override>& truth) {
  std::vector<Evidence> all;
  for (const char* model : {"llama-3.1-8b", "qwen3-8b"}) {
    for (const std::int64_t clients : {1, 8, 24}) {
      Evidence evidence;
      evidence.id = std::string(model) + std::to_string(clients);
      evidence.model = model;
      evidence.gpu = "h100";
      evidence.engine_version = "vllm@0.11";
      evidence.server.max_num_seqs = 64;
      evidence.server.max_model_len = 4096;
      evidence.input = {.law = TokenCounts::Law::kFixed, .mean = 256};
      evidence.output = {.law = TokenCounts::Law::kFixed, .mean = 20};
      StageLoad stage;
      stage.kind = StageLoad::Kind::kClosed;
      stage.name = "0";
      stage.requests = 2 * clients;
      stage.concurrency = clients;
      evidence.stages = {stage};
      evidence.closed_loop = true;
      all.push_back(std::move(evidence));
    }
  }
  const auto runs = group_runs(all);
  const auto predictions = predict(all, runs, one_history(truth));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].measured = predictions[i].prediction.value().figures;
  }
  return all;
}

constexpr std::size_t kPerToken = 2;

TEST(LeaveOut, ChangesNothingWhereThereIsNothingToLearn) {
  const auto rows = leave_out(loops_measured_with({}), LeaveOut::kNetwork, one_history()).value();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].value, "llama-3.1-8b");
  EXPECT_EQ(rows[0].records, 3);
  for (const auto& row : rows) {
    EXPECT_NEAR(row.seen[kPerToken].value().mean_abs, 0.0, 1e-9);
    EXPECT_NEAR(row.unseen[kPerToken].value().mean_abs, 0.0, 1e-3);
    EXPECT_NEAR(row.largest_change_pct, 0.0, 1e-6);
  }
}

/// A host that takes 300 us longer slows every step of both networks: what one tells mends the
/// other, though not all of it, for the fit holds on to the constants as they are.
TEST(LeaveOut, TheOthersTellWhatTheHostTakes) {
  const auto evidence = loops_measured_with({{.path = "serving.host_step_time", .text = "700us"}});
  const auto rows = leave_out(evidence, LeaveOut::kNetwork, one_history()).value();
  ASSERT_EQ(rows.size(), 2U);
  for (const auto& row : rows) {
    EXPECT_GT(row.seen[kPerToken].value().mean_abs, 1.0);
    EXPECT_LT(row.unseen[kPerToken].value().mean_abs, 0.5 * row.seen[kPerToken].value().mean_abs);
  }
  // With the only GPU left out nothing is learnt.
  const auto gpus = leave_out(evidence, LeaveOut::kGpu, one_history()).value();
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(gpus[0].value, "h100");
  EXPECT_EQ(gpus[0].largest_change_pct, 0.0);
}

TEST(LeaveOut, NothingPredictableIsAnError) {
  EXPECT_FALSE(leave_out({}, LeaveOut::kGpu, one_history()).has_value());
}

TEST(LeaveOut, RefitsGapsAndTheRequestPath) {
  EXPECT_THAT(refitted_constants(), testing::Contains("layer_launch_gap_us"));
  EXPECT_THAT(refitted_constants(), testing::Contains("delivery_time"));
}

}  // namespace
}  // namespace ridgeline::scoring
