#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_spec.hpp"
#include "unit/model/config_text.hpp"

namespace ridgeline::model {
namespace {

using testing::HasSubstr;

const std::string kLlama4 =
    with(R"("num_local_experts": 8, "num_experts_per_tok": 1, "intermediate_size_mlp": 192)",
         of_type("llama4"));

TEST(Llama4, SharesAnExpertAsWideAsTheOthers) {
  const ModelSpec spec = accepted(with("\"interleave_moe_layer_step\": 1", kLlama4));
  EXPECT_EQ(order(spec), "m4");
  EXPECT_EQ(std::get<MoeFfn>(spec.layers.front().ffn),
            (MoeFfn{.experts = 8, .experts_per_token = 1, .expert_width = 96, .shared_width = 96}));
}

TEST(Llama4, InterleavesDenseLayers) {
  const ModelSpec spec = accepted(with("\"interleave_moe_layer_step\": 2", kLlama4));
  EXPECT_EQ(order(spec), "d1 m1 d1 m1");
  EXPECT_EQ(std::get<DenseFfn>(spec.layers.front().ffn).width, 192);
  EXPECT_EQ(order(accepted(with("\"moe_layers\": [0, 1]", kLlama4))), "m2 d2");
  EXPECT_THAT(problems(with("\"moe_layers\": [-1]", kLlama4)), HasSubstr("moe_layers"));
}

TEST(Llama4, ItsQueryAndKeyNormsHaveNoWeights) {
  EXPECT_FALSE(attention(with("\"use_qk_norm\": true", kLlama4)).qk_norm);
}

TEST(Llama4, ThreeOfFourLayersAttendInChunks) {
  const ModelSpec spec = accepted(with("\"attention_chunk_size\": 512", kLlama4));
  ASSERT_EQ(spec.layers.size(), 2U);
  EXPECT_EQ(spec.layers[0].count, 3);
  EXPECT_EQ(spec.layers[0].attention.window, 512);
  EXPECT_TRUE(spec.layers[0].attention.chunked);
  EXPECT_EQ(spec.layers[1].count, 1);
  EXPECT_EQ(spec.layers[1].attention.window, 0);
}

TEST(Llama4, NoRopeLayersMayBeListed) {
  const ModelSpec spec =
      accepted(with("\"attention_chunk_size\": 512, \"no_rope_layers\": [0, 1, 1, 1]", kLlama4));
  EXPECT_EQ(spec.layers.front().count, 1);
  EXPECT_EQ(spec.layers.front().attention.window, 0);
  EXPECT_THAT(problems(with("\"no_rope_layers\": [0, 1]", kLlama4)),
              HasSubstr("no_rope_layers: has 2 entries, expected 4"));
}

}  // namespace
}  // namespace ridgeline::model
