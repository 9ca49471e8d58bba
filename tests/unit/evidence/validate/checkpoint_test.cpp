#include "evidence/validate/checkpoint.hpp"

#include <gtest/gtest.h>

namespace ridgeline::evidence::validate {
namespace {

TEST(Checkpoint, WordsMeanKindsOfWeights) {
  EXPECT_EQ(weight_kind("nvfp4"), WeightKind::kFp4);
  EXPECT_EQ(weight_kind("FP16/BF16"), WeightKind::k16Bit);
  EXPECT_EQ(weight_kind("int4_wo"), WeightKind::kInt4);
  EXPECT_EQ(weight_kind("UINT4"), WeightKind::kInt4);
  EXPECT_EQ(weight_kind("fp8_block"), WeightKind::kFp8);
  EXPECT_EQ(weight_kind("who knows"), std::nullopt);
}

TEST(Checkpoint, TheSiblingHasTheShapeAndTheFormat) {
  EXPECT_EQ(sibling_of("moonshotai/Kimi-K2.5", WeightKind::kFp4), "kimi-k2.5-nvfp4");
  EXPECT_EQ(sibling_of("MiniMaxAI/MiniMax-M2.5", WeightKind::kFp4), "minimax-m2.5-nvfp4");
  EXPECT_EQ(sibling_of("Qwen/Qwen3-32B", WeightKind::kFp8), "qwen3-32b-fp8");
  EXPECT_EQ(sibling_of("deepseek-ai/DeepSeek-R1", WeightKind::kFp4), "deepseek-r1-nvfp4");
  // Not one's own name but one's own shape.
  EXPECT_EQ(sibling_of("deepseek-ai/DeepSeek-V3", WeightKind::kFp4), "deepseek-v3.1-nvfp4");
  EXPECT_EQ(sibling_of("mistralai/Mistral-Nemo-Instruct-2407", WeightKind::kFp4), std::nullopt);
  EXPECT_EQ(sibling_of("no such network", WeightKind::kFp4), std::nullopt);
}

}  // namespace
}  // namespace ridgeline::evidence::validate
