#include "engine/capacity.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "core/units.hpp"
#include "hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::engine {
namespace {

MemoryPlan plan(const char* network, std::int64_t tp, const char* gpu = "h100") {
  return plan_memory(
      *model::find_model(network), *hardware::find_gpu(gpu), {.tensor_parallel_size = tp});
}

// H100: 79.19 GiB usable * 0.9 = 71.271 GiB; 1.2 GiB in reserve.

TEST(Capacity, Llama8B) {
  // 8,030,261,248 parameters * 2 B = 14.9575 GiB. 71.271 - 14.9575 - 1.2 = 55.1135 GiB.
  // A block: 16 tokens * 32 layers * 2 * 8 heads * 128 * 2 B = 2 MiB. 55.1135 GiB / 2 MiB =
  // 28,218.1.
  const auto memory = plan("llama-3.1-8b", 1);
  EXPECT_NEAR(core::as_gibibytes(memory.weights), 14.9575, 1e-4);
  EXPECT_EQ(memory.block, core::Bytes(2.0 * 1024 * 1024));
  EXPECT_EQ(memory.num_gpu_blocks, core::Blocks(28'218));
}

TEST(Capacity, Llama70BOnFour) {
  // (70,553,706,496 - 161 norms * 8192) / 4 + 161 * 8192 = 17,639,415,808 parameters, 32.8560 GiB a
  // rank. 71.271 - 32.8560 - 1.2 = 37.2150 GiB. A block: 16 * 80 layers * 2 * 2 heads * 128 * 2 B
  // = 1.25 MiB. 37.2150 GiB / 1.25 MiB = 30,486.5.
  const auto memory = plan("llama-3.1-70b", 4);
  EXPECT_NEAR(core::as_gibibytes(memory.weights), 32.8560, 1e-4);
  EXPECT_EQ(memory.block, core::Bytes(1.25 * 1024 * 1024));
  EXPECT_EQ(memory.num_gpu_blocks, core::Blocks(30'486));
}

TEST(Capacity, Qwen7BHasFourKvHeads) {
  // 7,615,616,512 * 2 B = 14.1852 GiB; 71.271 - 14.1852 - 1.2 = 55.8858 GiB.
  // A block: 16 * 28 layers * 2 * 4 heads * 128 * 2 B = 896 KiB. 55.8858 GiB / 896 KiB = 65,402.3.
  EXPECT_EQ(plan("qwen2.5-7b", 1).num_gpu_blocks, core::Blocks(65'402));
  // At TP 8 a rank still holds one whole KV head: 224 KiB a block, not 112.
  EXPECT_EQ(plan("qwen2.5-7b", 4).block, core::Bytes(224.0 * 1024));
}

TEST(Capacity, AModelThatDoesNotFitHasNoBlocks) {
  const auto memory = plan("llama-3.1-70b", 1);
  EXPECT_LT(memory.kv_cache, core::Bytes(0));
  EXPECT_EQ(memory.num_gpu_blocks, core::Blocks(0));
}

TEST(Capacity, TheSmallestTpThatFits) {
  const auto network = *model::find_model("llama-3.1-70b");
  // 131.4 GiB of weights: 65.7 GiB a rank at TP 2 leave 71.271 - 65.7 - 1.2 = 4.4 GiB, 28,582
  // tokens of 160 KiB.
  EXPECT_EQ(smallest_fitting_tp(network, *hardware::find_gpu("h100"), {}, core::Tokens(8192)), 2);
  EXPECT_EQ(smallest_fitting_tp(network, *hardware::find_gpu("h100"), {}, core::Tokens(131'072)),
            4);
  // An L40S has 44.39 * 0.9 - 1.2 = 38.75 GiB for weights and KV: 32.9 GiB at TP 4.
  EXPECT_EQ(smallest_fitting_tp(network, *hardware::find_gpu("l40s"), {}, core::Tokens(8192)), 4);
  EXPECT_EQ(smallest_fitting_tp(*model::find_model("llama-3.1-405b"),
                                *hardware::find_gpu("l40s"),
                                {},
                                core::Tokens(8192)),
            0);
}

}  // namespace
}  // namespace ridgeline::engine
