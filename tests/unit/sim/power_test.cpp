#include "sim/power.hpp"

#include <cmath>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"
#include "metrics/power_summary.hpp"
#include "metrics/summary.hpp"
#include "metrics/work_done.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::sim {
namespace {

/// Every step takes 10 ms and reads 10 GB.
class ReadingModel final : public latency::StepTimeModel {
 public:
  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& /*batch*/) const override {
    domain::StepTime time;
    time.add(domain::Bottleneck::kMemory, core::Duration::milliseconds(10));
    return time;
  }
  [[nodiscard]] latency::Explanation explain(const domain::StepBatch& batch) const override {
    latency::Explanation step;
    step.total = predict(batch);
    latency::OperatorTime read;
    read.bytes = core::Bytes(10e9);
    step.parts = {read};
    return step;
  }
};

scenario::Resolved two_gpus() {
  auto deployment = std::make_shared<scenario::Deployment>();
  deployment->gpu = hardware::find_gpu("h100").value();
  deployment->execution.sharding.tensor_parallel_size = 2;
  deployment->latency = std::make_unique<ReadingModel>();
  scenario::Resolved resolved;
  resolved.deployment = deployment;
  return resolved;
}

TEST(Power, IdleTimeCountsAsIdle) {
  metrics::Summary summary;
  summary.duration_s = 2.0;
  summary.busy = core::Duration::seconds(1);
  summary.steps = 100;
  summary.total_output_tokens = 101;
  const metrics::WorkDone work{
      .prompts = 1, .prompt_tokens = 10, .decode_tokens = 100, .decode_context = 1000};
  const auto power = power_of(two_gpus(), summary, work);
  ASSERT_TRUE(power.has_value());
  // 1 TB/s of 3.35: 130 + 700 * 0.295 * sqrt(1 / 3.35) W in one of two seconds, 130 W in the other.
  const double busy = 130.0 + 700.0 * 0.295 * std::sqrt(1.0 / 3.35);
  EXPECT_NEAR(power->mean, (busy + 130.0) / 2, 1e-6);
  EXPECT_NEAR(power->idle, 130.0, 1e-9);
  EXPECT_TRUE(power->own_law);
  // Two GPUs, two seconds.
  EXPECT_NEAR(power->joules_per_output_token.value(), power->mean * 2 * 2 / 101, 1e-9);
}

TEST(Power, ARunWithoutWorkHasNone) {
  metrics::Summary summary;
  EXPECT_FALSE(power_of(two_gpus(), summary, {}).has_value());
}

}  // namespace
}  // namespace ridgeline::sim
