#include "latency/power/run_power.hpp"

#include <cmath>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/power/power_law.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency {
namespace {

/// Every step takes 10 ms, reads 10 GB and multiplies 1 TFLOP for each token, 0.4 of it for rows
/// that fill tiles.
class EvenModel final : public StepTimeModel {
 public:
  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& batch) const override {
    domain::StepTime time;
    if (batch.num_tokens() > core::Tokens(0)) {
      time.add(domain::Bottleneck::kMemory, core::Duration::milliseconds(10));
    }
    return time;
  }
  [[nodiscard]] Explanation explain(const domain::StepBatch& batch) const override {
    Explanation step;
    step.total = predict(batch);
    const auto tokens = static_cast<double>(batch.num_tokens().value());
    OperatorTime work;
    work.flops = core::Flops(0.6e12 * tokens);
    work.padding = core::Flops(0.4e12 * tokens);
    work.bytes = core::Bytes(tokens > 0.0 ? 10e9 : 0.0);
    OperatorTime message;
    message.bytes = core::Bytes(1e15);
    message.bottleneck = domain::Bottleneck::kNetwork;
    step.parts = {work, message};
    return step;
  }
};

TEST(RunPower, DecodesAreTheLawAtTheirMeanStep) {
  const hardware::GpuSpec gpu = hardware::find_gpu("b200").value();
  const EvenModel model;
  // 100 steps in 1 s: 10 GB and 2.5 TFLOP in 10 ms are shares of the datasheet's rates. Prompts add
  // FLOPs and no time.
  const MeanSteps mean{.steps = 100,
                       .decodes = 2.5,
                       .decode_context = core::Tokens(10),
                       .prompts = 1,
                       .prompt = core::Tokens(1),
                       .busy = core::Seconds(1.0)};
  const auto power = run_power(model, Execution{}, gpu, mean);
  ASSERT_TRUE(power.has_value());
  const double bandwidth = 1e12 / gpu.mem_bandwidth.value();
  const double compute = 250e12 / gpu.peak_bf16.value();
  const double expected =
      1000.0 * (130.0 / 700.0 + 0.636 * std::sqrt(bandwidth) + 0.901 * std::sqrt(compute));
  EXPECT_NEAR(power->working.expected, expected, 0.01);
  EXPECT_FALSE(power->prefill.has_value());
}

/// A host that takes as long again as the kernels leaves the GPU waiting for half of the time.
TEST(RunPower, WhatStepsTakeBesideTheirKernelsIsWaiting) {
  const hardware::GpuSpec gpu = hardware::find_gpu("h100").value();
  const EvenModel model;
  MeanSteps mean{.steps = 100,
                 .decodes = 2.0,
                 .decode_context = core::Tokens(10),
                 .prompts = 1,
                 .prompt = core::Tokens(1),
                 .busy = core::Seconds(1.0)};
  const auto even = run_power(model, Execution{}, gpu, mean);
  mean.busy = core::Seconds(2.0);
  const auto waiting = run_power(model, Execution{}, gpu, mean);
  ASSERT_TRUE(even && waiting);
  EXPECT_NEAR(waiting->working.expected, (even->working.expected + idle_power(gpu)) / 2, 0.01);
}

TEST(RunPower, NothingIsSaidWithoutALimitOrWork) {
  hardware::GpuSpec gpu = hardware::find_gpu("h100").value();
  const EvenModel model;
  MeanSteps mean{.steps = 10,
                 .decodes = 1.0,
                 .decode_context = core::Tokens(1),
                 .prompts = 1,
                 .prompt = core::Tokens(1),
                 .busy = core::Seconds(1.0)};
  mean.steps = 0;
  EXPECT_FALSE(run_power(model, Execution{}, gpu, mean).has_value());
  mean.steps = 10;
  gpu.power_watts = 0.0;
  EXPECT_FALSE(run_power(model, Execution{}, gpu, mean).has_value());
}

}  // namespace
}  // namespace ridgeline::latency
