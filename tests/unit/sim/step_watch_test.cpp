#include "sim/step_watch.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::sim {
namespace {

/// 10 us and 1 us per context token.
class Straight final : public latency::StepTimeModel {
 public:
  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& batch) const override {
    domain::StepTime time;
    time.add(domain::Bottleneck::kMemory,
             core::Duration::microseconds(10 + batch.decode_context.value()));
    return time;
  }
  [[nodiscard]] latency::Explanation explain(const domain::StepBatch& batch) const override {
    latency::Explanation explanation;
    explanation.total = predict(batch);
    explanation.parts.push_back({.name = "all",
                                 .phase = "step",
                                 .shape = {},
                                 .calls = 1,
                                 .flops = {},
                                 .bytes = {},
                                 .time = core::Seconds(explanation.total.gpu().to_seconds()),
                                 .source = {},
                                 .distance = {}});
    return explanation;
  }
};

TEST(StepWatch, TakesTheLastBatchApartAndAddsTheHostsTime) {
  const Straight model;
  const StepWatch watch(model);
  const std::vector<domain::PrefillChunk> chunks = {
      {.past = core::Tokens(0), .new_tokens = core::Tokens(5)}};
  static_cast<void>(watch.predict({.num_decodes = 2,
                                   .decode_context = core::Tokens(20),
                                   .decode_lengths = {},
                                   .prefills = chunks}));
  domain::StepRecord record;
  record.num_decodes = 2;
  record.decode_context = core::Tokens(20);
  record.num_prefills = 1;
  record.period = core::Duration::microseconds(40);  // 30 of the GPU
  const StepSegment segment = watch.segment(record);
  ASSERT_EQ(segment.parts.size(), 2U);
  EXPECT_NEAR(core::as_microseconds(segment.parts[0].time), 30.0, 1e-9);
  EXPECT_EQ(segment.parts[1].name, "host");
  EXPECT_NEAR(core::as_microseconds(segment.parts[1].time), 10.0, 1e-9);
  EXPECT_NEAR(segment.rounding.value(), 0.0, 1e-15);
  ASSERT_EQ(segment.prefills.size(), 1U);
}

TEST(StepWatch, SumsARunOfStepsInClosedForm) {
  const Straight model;
  const StepWatch watch(model);
  domain::StepRecord record;
  record.steps = 4;
  record.num_decodes = 3;
  record.decode_context = core::Tokens(100);
  record.period = core::Duration::microseconds(110);
  record.period_growth = core::Duration::microseconds(3);
  record.gpu_growth = core::Duration::microseconds(3);
  const StepSegment segment = watch.segment(record);
  // 110 + 113 + 116 + 119.
  EXPECT_EQ(segment.busy, core::Duration::microseconds(458));
  ASSERT_EQ(segment.parts.size(), 1U);
  EXPECT_NEAR(core::as_microseconds(segment.parts[0].time), 458.0, 1e-9);
  EXPECT_EQ(segment.parts[0].calls, 4);
}

}  // namespace
}  // namespace ridgeline::sim
