#include "cluster/step_time_predictor.hpp"

#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "engine/options.hpp"
#include "routing/predictor.hpp"
#include "support/linear_model.hpp"

namespace ridgeline::cluster {
namespace {

/// 64 seats, a budget of 100 tokens; a step takes 1 ms, and 10 us per token.
class Predicting : public testing::Test {
 protected:
  Predicting() {
    options_.max_num_seqs = 64;
    options_.max_num_batched_tokens = core::Tokens(100);
    options_.num_gpu_blocks = core::Blocks(101);
  }
  [[nodiscard]] routing::Latency predict(const routing::Prospect& prospect,
                                         const PredictorError& error = {}) const {
    const StepTimePredictor predictor(
        {{.instances = 2, .options = &options_, .model = &model_, .host = &host_}}, error, 1);
    return predictor.predict(prospect);
  }

  engine::EngineOptions options_;
  engine::HostTime host_;
  test::LinearModel model_;
};

TEST_F(Predicting, AnIdleInstanceTakesTheStepsOfThePrompt) {
  // 250 tokens in budgets of 100: two steps of 1 + 1 ms, and one of 1 + 0.5 ms.
  const auto latency =
      predict({.instance = core::InstanceId(0), .prompt_tokens = 250, .uncached_tokens = 250});
  EXPECT_DOUBLE_EQ(latency.ttft_ms, 5.5);
  EXPECT_DOUBLE_EQ(latency.tpot_ms, 1.01);
}

TEST_F(Predicting, WhatRunsAndWhatWaitsTakesTime) {
  // 20 run: a budget of 80 for 100 + 60 tokens; two steps of 1 + 1 ms.
  const auto latency = predict({.instance = core::InstanceId(1),
                                .running = 20,
                                .kv_usage = 0.5,
                                .queued_tokens = 100,
                                .prompt_tokens = 200,
                                .uncached_tokens = 60});
  EXPECT_DOUBLE_EQ(latency.ttft_ms, 4.0);
  EXPECT_DOUBLE_EQ(latency.tpot_ms, 1.21);
  // A prompt that is cached computes its last token.
  EXPECT_DOUBLE_EQ(
      predict({.instance = core::InstanceId(1), .prompt_tokens = 200, .uncached_tokens = 0})
          .ttft_ms,
      1.01);
}

TEST_F(Predicting, IsWrongByItsBiasAndSpread) {
  routing::Prospect prospect{
      .instance = core::InstanceId(0), .prompt_tokens = 100, .uncached_tokens = 100};
  EXPECT_DOUBLE_EQ(predict(prospect, {.bias = 0.5}).ttft_ms, 3.0);
  constexpr std::uint32_t kDraws = 10'000;
  double sum = 0.0;
  double squares = 0.0;
  for (std::uint32_t id = 0; id < kDraws; ++id) {
    prospect.request = core::RequestId(id);
    const double error = predict(prospect, {.bias = 0.1, .sd = 0.2}).ttft_ms / 2.0 - 1.0;
    sum += error;
    squares += error * error;
  }
  // Four standard deviations of a mean of 10,000 draws: 0.008.
  const double mean = sum / kDraws;
  EXPECT_NEAR(mean, 0.1, 0.008);
  EXPECT_NEAR(std::sqrt(squares / kDraws - mean * mean), 0.2, 0.006);
}

}  // namespace
}  // namespace ridgeline::cluster
