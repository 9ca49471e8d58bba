#include "plan/scaled_model.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "plan/operator_class.hpp"

namespace ridgeline::plan {
namespace {

/// A network on GPUs with the default step-time model.
class Fixture {
 public:
  Fixture(const std::string& network, const std::string& gpu, std::int64_t ranks)
      : network_(model::find_model(network).value()), gpu_(hardware::find_gpu(gpu).value()) {
    execution_.sharding.tensor_parallel_size = ranks;
    model_ = latency::make_step_time_model(
                 "kernel", {.network = network_, .gpu = gpu_, .execution = execution_})
                 .value();
    parts_ = std::make_unique<StepParts>(*model_);
  }
  [[nodiscard]] const latency::StepTimeModel& model() const { return *model_; }
  [[nodiscard]] ScaledModel scaled(const OperatorScales& scales) const {
    return {*model_, *parts_, scales};
  }

 private:
  model::ModelSpec network_;
  hardware::GpuSpec gpu_;
  latency::Execution execution_;
  std::unique_ptr<latency::StepTimeModel> model_;
  std::unique_ptr<StepParts> parts_;
};

OperatorScales only(OperatorClass kind, double scale) {
  OperatorScales scales = kUnscaled;
  scales[static_cast<std::size_t>(kind)] = scale;
  return scales;
}

domain::StepBatch decodes(std::int64_t count, std::int64_t context) {
  domain::StepBatch batch;
  batch.num_decodes = count;
  batch.decode_context = core::Tokens(context);
  return batch;
}

TEST(ScaledModel, FactorsOfOneChangeNothing) {
  const Fixture fixture("llama-3.1-8b", "h100", 1);
  const ScaledModel scaled = fixture.scaled(kUnscaled);
  const std::array<domain::PrefillChunk, 1> chunk = {
      domain::PrefillChunk{.past = core::Tokens(0), .new_tokens = core::Tokens(700)}};
  domain::StepBatch mixed = decodes(20, 30'000);
  mixed.prefills = chunk;
  EXPECT_EQ(scaled.predict(mixed).gpu(), fixture.model().predict(mixed).gpu());
  EXPECT_EQ(scaled.predict(decodes(20, 30'000)).gpu(),
            fixture.model().predict(decodes(20, 30'000)).gpu());
}

TEST(ScaledModel, AClassTakesItsFactorMore) {
  const Fixture fixture("llama-3.1-70b-fp8", "h200", 4);
  const domain::StepBatch batch = decodes(32, 64'000);
  const auto times = time_by_class(fixture.model().explain(batch));
  for (std::size_t kind = 0; kind < kNumOperatorClasses; ++kind) {
    const ScaledModel scaled = fixture.scaled(only(static_cast<OperatorClass>(kind), 1.5));
    const double more =
        (scaled.predict(batch).gpu() - fixture.model().predict(batch).gpu()).to_seconds();
    EXPECT_NEAR(more, 0.5 * times[kind], 1e-7) << kOperatorClassNames[kind];
  }
}

TEST(ScaledModel, TheClosedFormIsThePrediction) {
  const Fixture fixture("llama-3.1-8b", "h100", 2);
  OperatorScales scales = {1.07, 0.9, 1.13, 1.0, 0.8, 1.2, 1.01, 0.97};
  const ScaledModel scaled = fixture.scaled(scales);
  for (const std::int64_t count : {1, 7, 64, 300}) {
    for (const std::int64_t context : {1'000, 12'345, 400'000}) {
      const auto line = scaled.affine(count, core::Tokens(context));
      ASSERT_TRUE(line.has_value());
      for (const std::int64_t at : {line->lowest.value(), context, context + 1}) {
        if (core::Tokens(at) <= line->highest) {
          EXPECT_EQ(line->at(core::Tokens(at)), scaled.predict(decodes(count, at)));
        }
      }
      const auto with_prompt =
          scaled.affine_with_prompt(count, core::Tokens(500), core::Tokens(context));
      ASSERT_TRUE(with_prompt.has_value());
      const std::array<domain::PrefillChunk, 1> chunk = {
          domain::PrefillChunk{.past = core::Tokens(0), .new_tokens = core::Tokens(500)}};
      domain::StepBatch mixed = decodes(count, context);
      mixed.prefills = chunk;
      EXPECT_EQ(with_prompt->at(core::Tokens(context)), scaled.predict(mixed));
    }
  }
}

TEST(ScaledModel, StagesSumToTheStep) {
  const Fixture fixture("llama-3.1-8b", "h100", 1);
  const ScaledModel scaled = fixture.scaled(only(OperatorClass::kGemm, 1.1));
  const domain::StepBatch batch = decodes(5, 5'000);
  core::Duration sum;
  for (const core::Duration stage : scaled.stages(batch)) {
    sum += stage;
  }
  EXPECT_EQ(sum, scaled.predict(batch).gpu());
  const latency::Explanation step = scaled.explain(batch);
  EXPECT_EQ(step.total, scaled.predict(batch));
  EXPECT_LT(std::abs(step.rounding.value()), 1e-8);
}

}  // namespace
}  // namespace ridgeline::plan
