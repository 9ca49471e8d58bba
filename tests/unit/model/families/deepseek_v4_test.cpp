#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "unit/model/config_text.hpp"

namespace ridgeline::model {
namespace {

using testing::HasSubstr;

const std::string kUncompressed = with(
    R"("q_lora_rank": 16, "head_dim": 16, "sliding_window": 32, "o_groups": 2, "o_lora_rank": 8,
       "index_topk": 64, "index_n_heads": 4, "index_head_dim": 8, "n_routed_experts": 8,
       "num_experts_per_tok": 2, "moe_intermediate_size": 32)",
    with("\"model_type\": \"deepseek_v4\"",
         R"({"hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 8,
             "num_key_value_heads": 1, "vocab_size": 1000, "max_position_embeddings": 2048})"));
const std::string kDeepseekV4 = with("\"compress_ratios\": [0, 4, 128, 4, 0]", kUncompressed);

TEST(DeepseekV4, EachLayerHasItsRatio) {
  const ModelSpec spec = accepted(kDeepseekV4);
  ASSERT_EQ(spec.layers.size(), 4U);
  EXPECT_EQ(spec.layers[0].attention.compressed->ratio, 0);
  EXPECT_EQ(spec.layers[1].attention.compressed->ratio, 4);
  EXPECT_TRUE(spec.layers[1].attention.sparse.has_value());
  EXPECT_EQ(spec.layers[2].attention.compressed->ratio, 128);
  EXPECT_FALSE(spec.layers[2].attention.sparse.has_value());
  EXPECT_EQ(spec.layers[2].attention.compressed->window, 32);
}

TEST(DeepseekV4, ExpertsMayBeFourBit) {
  EXPECT_EQ(accepted(with("\"expert_dtype\": \"fp4\"", kDeepseekV4)).precision.ffn, DType::kMxfp4);
  EXPECT_THAT(problems(with("\"expert_dtype\": \"fp3\"", kDeepseekV4)),
              HasSubstr("experts in \"fp3\" is not modelled yet"));
}

TEST(DeepseekV4, TooFewRatiosAreAProblem) {
  EXPECT_THAT(problems(with("\"compress_ratios\": [0, 4]", kUncompressed)),
              HasSubstr("compress_ratios: has 2 entries, expected at least 4"));
}

}  // namespace
}  // namespace ridgeline::model
