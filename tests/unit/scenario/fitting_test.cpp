#include "scenario/fitting.hpp"

#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/units.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::scenario {
namespace {

using testing::HasSubstr;

std::string hint(const char* network, const char* gpu, std::int64_t tokens) {
  return fitting_hint({.network = *model::find_model(network),
                       .gpu = *hardware::find_gpu(gpu),
                       .options = {},
                       .tokens = core::Tokens(tokens)});
}

TEST(FittingHint, TheSmallestTpThatFits) {
  // 131.4 GiB of weights: 65.7 GiB a rank at TP 2 leave 71.271 - 65.7 - 2.2 = 3.3 GiB, 21,900
  // tokens of 160 KiB.
  EXPECT_THAT(hint("llama-3.1-70b", "h100", 8192), HasSubstr("--tensor-parallel-size 2"));
  EXPECT_THAT(hint("llama-3.1-70b", "h100", 131'072), HasSubstr("--tensor-parallel-size 4"));
  // An L40S has 44.39 * 0.9 - 2.2 = 37.7 GiB for weights and KV: 32.9 GiB at TP 4.
  EXPECT_THAT(hint("llama-3.1-70b", "l40s", 8192), HasSubstr("--tensor-parallel-size 4"));
}

TEST(FittingHint, BeyondANodeItNamesThePipeline) {
  // 405B in 16 bits are 756 GiB, 94.5 for each GPU of a node: 47 with two stages.
  EXPECT_THAT(hint("llama-3.1-405b", "h100", 8192),
              HasSubstr("--tensor-parallel-size 8 --pipeline-parallel-size 2"));
}

TEST(FittingHint, StagesInOtherNodesNeedANetworkOfKnownBandwidth) {
  // 64 L4s stand in eight nodes, and the catalogue does not know what joins those.
  EXPECT_THAT(hint("llama-3.1-405b", "l4", 8192),
              testing::AllOf(HasSubstr("--pipeline-parallel-size 8"),
                             HasSubstr("--set hardware.network_bandwidth=RATE")));
  EXPECT_THAT(hint("llama-3.1-405b", "h100", 8192), testing::Not(HasSubstr("network_bandwidth")));
}

TEST(FittingHint, ACheckpointHasTheSameVisionTower) {
  // The decoder is qwen3-32b's, of which the catalogue has an FP8 checkpoint.
  EXPECT_THAT(hint("qwen3-32b", "l40s", 8192), HasSubstr("--model qwen3-32b-fp8"));
  EXPECT_THAT(hint("qwen3-vl-32b", "l40s", 8192),
              testing::AllOf(HasSubstr("--quantization fp8"), testing::Not(HasSubstr("--model"))));
}

}  // namespace
}  // namespace ridgeline::scenario
