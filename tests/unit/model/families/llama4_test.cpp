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

TEST(Llama4, ChunkedAttentionIsPricedInFullAndSaysSo) {
  const ModelSpec spec = accepted(with("\"attention_chunk_size\": 512", kLlama4));
  EXPECT_THAT(spec.provenance,
              testing::Contains(testing::Pair("attention", HasSubstr("attention_chunk_size 512"))));
}

}  // namespace
}  // namespace ridgeline::model
