#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_spec.hpp"
#include "unit/model/config_text.hpp"

namespace ridgeline::model {
namespace {

using testing::HasSubstr;

TEST(Qwen3, NormsQueriesAndKeys) {
  const AttentionSpec qwen3 = attention(of_type("qwen3"));
  EXPECT_TRUE(qwen3.qk_norm);
  EXPECT_FALSE(qwen3.qkv_bias);
  EXPECT_FALSE(qwen3.output_bias);
  EXPECT_TRUE(attention(with("\"attention_bias\": true", of_type("qwen3"))).qkv_bias);
}

TEST(Qwen3, LayersOfPartialAttentionAreRefused) {
  EXPECT_THAT(
      problems(with(R"("layer_types": ["full_attention", "sliding_attention"])", of_type("qwen3"))),
      HasSubstr("a layer of type \"sliding_attention\" is not modelled yet"));
  EXPECT_THAT(problems(with(R"("layer_types": [1])", of_type("qwen3"))),
              HasSubstr("a layer of type 1 is not modelled yet"));
  EXPECT_EQ(problems(with(R"("layer_types": ["full_attention"])", of_type("qwen3"))), "accepted");
}

}  // namespace
}  // namespace ridgeline::model
