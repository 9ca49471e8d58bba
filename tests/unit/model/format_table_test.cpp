#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "model/operators.hpp"
#include "model/quantisation.hpp"

namespace ridgeline::model {
namespace {

TEST(Quantisation, ModulesBelongToParts) {
  EXPECT_EQ(part_of_module(".self_attn.q_proj"), Part::kMixerIn);
  EXPECT_EQ(part_of_module(".mixer.in_proj"), Part::kMixerIn);
  EXPECT_EQ(part_of_module(".linear_attn.out_proj"), Part::kMixerOut);
  EXPECT_EQ(part_of_module(".mlp.experts.7.down_proj"), Part::kRouted);
  EXPECT_EQ(part_of_module(".block_sparse_moe.experts.7.w1"), Part::kRouted);
  EXPECT_EQ(part_of_module(".mlp.shared_experts.up_proj"), Part::kShared);
  EXPECT_EQ(part_of_module(".mlp.down_proj"), Part::kFfn);
  EXPECT_EQ(part_of_module(".mlp.gate"), std::nullopt);
  EXPECT_EQ(part_of_module(".input_layernorm"), std::nullopt);
  EXPECT_EQ(part_of_module(".mixer.conv1d"), std::nullopt);
}

TEST(Quantisation, ATableKeepsLayersApart) {
  FormatTable table(3, DType::kBf16);
  table.set_all(DType::kFp8);
  EXPECT_TRUE(table.set_matching("model.layers.1.self_attn*", DType::kBf16));
  EXPECT_EQ(table.at(0, Part::kMixerIn), DType::kFp8);
  EXPECT_EQ(table.at(1, Part::kMixerIn), DType::kBf16);
  EXPECT_EQ(table.at(1, Part::kMixerOut), DType::kBf16);
  EXPECT_EQ(table.at(1, Part::kFfn), DType::kFp8);
  EXPECT_TRUE(table.set_matching("model.layers.9.mlp", DType::kBf16));  // no such layer
  EXPECT_FALSE(table.set_matching("re:[", DType::kBf16));
}

TEST(Quantisation, SmallModulesDoNotDecide) {
  FormatTable table(1, DType::kBf16);
  table.set_module("backbone.layers.0.mixer.k_proj", DType::kFp8);
  EXPECT_EQ(table.at(0, Part::kMixerIn), DType::kBf16);
  table.set_module("backbone.layers.0.mixer.q_proj", DType::kFp8);
  EXPECT_EQ(table.at(0, Part::kMixerIn), DType::kFp8);
  table.set_module("lm_head", DType::kNvfp4);
  EXPECT_EQ(table.lm_head(), DType::kNvfp4);
}

TEST(Quantisation, ExpertsMayStandApart) {
  FormatTable table(2, DType::kBf16);
  table.experts_stand_apart();
  table.set_all(DType::kNvfp4);
  EXPECT_TRUE(table.set_matching("model.language_model.layers.0.mlp*", DType::kBf16));
  EXPECT_EQ(table.at(0, Part::kFfn), DType::kBf16);
  EXPECT_EQ(table.at(0, Part::kRouted), DType::kNvfp4);
}

}  // namespace
}  // namespace ridgeline::model
