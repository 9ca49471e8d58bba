#include "lab/scoring/first_model.hpp"

#include <gtest/gtest.h>

#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::scoring {
namespace {

TEST(FirstModel, IsTheKernelModelOfItsFirstConstants) {
  const latency::fixtures::Subject subject{
      latency::fixtures::llama_2_7b(), latency::fixtures::gpu("h100"), 1};
  const auto model = first_model().make(subject.inputs()).value();
  for (const latency::fixtures::Step& step : latency::fixtures::assorted_steps()) {
    EXPECT_EQ(model->predict(step.batch()).gpu(), subject.model().predict(step.batch()).gpu());
  }
}

}  // namespace
}  // namespace ridgeline::scoring
