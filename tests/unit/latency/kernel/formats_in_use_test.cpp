#include "latency/kernel/formats_in_use.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::latency::kernel {
namespace {

using testing::ElementsAre;

std::vector<std::string> formats(const std::string& network, const std::string& gpu) {
  std::vector<std::string> names;
  for (const FormatPeak& format :
       formats_in_use(model::find_model(network).value(), hardware::find_gpu(gpu).value())) {
    names.push_back(format.format);
  }
  return names;
}

TEST(FormatsInUse, AreThoseThatTheGpuMultipliesIn) {
  EXPECT_THAT(formats("llama-3.1-8b", "h100"), ElementsAre("bf16"));
  EXPECT_THAT(formats("llama-3.1-8b-fp8", "h100"), ElementsAre("bf16", "fp8"));
  // No units for FP8: its weights are read small and multiplied in 16 bit.
  EXPECT_THAT(formats("llama-3.1-8b-fp8", "a100-80gb"), ElementsAre("bf16"));
  EXPECT_THAT(formats("qwen3-235b-a22b-nvfp4", "b200"), ElementsAre("bf16", "fp4"));
  // MXFP4 weights with FP8 activations.
  EXPECT_THAT(formats("gpt-oss-20b", "b200"), ElementsAre("bf16", "fp8"));
}

TEST(FormatsInUse, HaveTheDatasheetsPeak) {
  const auto found = formats_in_use(model::find_model("llama-3.1-8b-fp8").value(),
                                    hardware::find_gpu("h100").value());
  ASSERT_EQ(found.size(), 2U);
  EXPECT_DOUBLE_EQ(found[0].peak.value(), 989e12);
  EXPECT_DOUBLE_EQ(found[1].peak.value(), 1979e12);
}

}  // namespace
}  // namespace ridgeline::latency::kernel
