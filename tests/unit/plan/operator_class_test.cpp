#include "plan/operator_class.hpp"

#include <cstddef>
#include <numeric>
#include <string>

#include <gtest/gtest.h>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::plan {
namespace {

OperatorClass named(const std::string& name, const std::string& phase = "step") {
  latency::OperatorTime part;
  part.name = name;
  part.phase = phase;
  return class_of(part);
}

TEST(OperatorClass, NamesOfTheKernelModelHaveTheirClass) {
  EXPECT_EQ(named("qkv_proj"), OperatorClass::kGemm);
  EXPECT_EQ(named("lm_head"), OperatorClass::kGemm);
  EXPECT_EQ(named("attention", "prefill"), OperatorClass::kPrefillAttention);
  EXPECT_EQ(named("indexer", "decode"), OperatorClass::kDecodeAttention);
  EXPECT_EQ(named("experts"), OperatorClass::kExperts);
  EXPECT_EQ(named("draft_experts"), OperatorClass::kExperts);
  EXPECT_EQ(named("all_reduce"), OperatorClass::kCommunication);
  EXPECT_EQ(named("logits_exchange"), OperatorClass::kCommunication);
  EXPECT_EQ(named("qk_norm"), OperatorClass::kElementwise);
  EXPECT_EQ(named("sampling"), OperatorClass::kSampling);
  EXPECT_EQ(named("piecewise_gaps"), OperatorClass::kGaps);
}

/// Counts how often a step is taken apart.
class CountingModel final : public latency::StepTimeModel {
 public:
  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& /*batch*/) const override {
    return {};
  }
  [[nodiscard]] latency::Explanation explain(const domain::StepBatch& batch) const override {
    ++taken_apart;
    latency::Explanation step;
    latency::OperatorTime part;
    part.name = "qkv_proj";
    part.time = core::Seconds(static_cast<double>(batch.num_decodes));
    step.parts = {part};
    return step;
  }
  mutable int taken_apart = 0;
};

TEST(StepParts, ABatchIsTakenApartOnce) {
  const CountingModel model;
  const StepParts parts(model);
  domain::StepBatch batch;
  batch.num_decodes = 3;
  EXPECT_EQ(parts.of(batch)[static_cast<std::size_t>(OperatorClass::kGemm)], 3.0);
  EXPECT_EQ(parts.of(batch)[static_cast<std::size_t>(OperatorClass::kGemm)], 3.0);
  EXPECT_EQ(model.taken_apart, 1);
  batch.decode_context = core::Tokens(10);
  static_cast<void>(parts.of(batch));
  EXPECT_EQ(model.taken_apart, 2);
}

}  // namespace
}  // namespace ridgeline::plan
