#include "latency/kernel/launches.hpp"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "model/catalogue.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

/// Kernels of one layer and what stands once: the embedding, the head, the last norm, sampling.
Launched all_of(const std::string& network, const std::string& gpu, int ranks) {
  const model::ModelSpec spec = model::find_model(network).value();
  const auto operators = model::forward_pass(spec, {.tensor_parallel_size = ranks});
  return launches(operators, hardware::find_gpu(gpu).value());
}

std::int64_t kernels_of(const std::string& network, const std::string& gpu, int ranks) {
  return all_of(network, gpu, ranks).with_prompts;
}

TEST(Launches, ALayerOfADenseNetworkHasThirteenKernelsAndTwoExchanges) {
  constexpr std::int64_t kLayers = 32;
  const std::int64_t alone = kernels_of("llama-3.1-8b", "h100", 1);
  EXPECT_EQ(alone / kLayers, 13);
  EXPECT_GE(kernels_of("llama-3.1-8b", "h100", 2) - alone, 2 * kLayers);
}

TEST(Launches, ExpertsLatentsAndRowsToQuantiseAddKernels) {
  EXPECT_GT(kernels_of("qwen3-30b-a3b", "h100", 1) / 48, 13 + 5);
  EXPECT_GT(kernels_of("deepseek-v3", "h200", 8) / 61, 40);
  // An A100 has no units for FP8 and quantises nothing.
  EXPECT_LT(kernels_of("deepseek-v3", "a100-80gb", 8), kernels_of("deepseek-v3", "h200", 8));
}

/// A state is carried on in one kernel.
TEST(Launches, DecodesOfRecurrencesNeedFewer) {
  const Launched dense = all_of("llama-3.1-8b", "h100", 1);
  EXPECT_EQ(dense.decodes, dense.with_prompts);
  const Launched hybrid = all_of("nemotron-3-nano-30b-a3b", "h200", 1);
  EXPECT_EQ(hybrid.with_prompts - hybrid.decodes, 23 * 14);
}

}  // namespace
}  // namespace ridgeline::latency::kernel
