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

const std::string kQwen35 =
    with(R"("head_dim": 16, "linear_num_value_heads": 8, "linear_num_key_heads": 4,
            "linear_key_head_dim": 8, "linear_value_head_dim": 8, "linear_conv_kernel_dim": 4)",
         of_type("qwen3_5"));

TEST(Qwen35, ThreeDeltaNetsThenAttention) {
  const ModelSpec spec = accepted(kQwen35);
  EXPECT_EQ(order(spec), "d3 d1");
  EXPECT_EQ(spec.layers[0].recurrent->heads, 8);
  EXPECT_EQ(spec.layers[0].recurrent->state, DType::kBf16);
  EXPECT_EQ(spec.layers[0].attention.heads, 0);
  EXPECT_TRUE(spec.layers[1].attention.output_gate);
  EXPECT_FALSE(spec.layers[1].recurrent.has_value());
}

TEST(Qwen35, TheStateMayBe32BitAndTheLayersListed) {
  const ModelSpec spec = accepted(with(
      R"("mamba_ssm_dtype": "float32", "layer_types": ["full_attention", "linear_attention",
         "linear_attention", "full_attention"])",
      kQwen35));
  EXPECT_EQ(order(spec), "d1 d2 d1");
  EXPECT_EQ(spec.layers[1].recurrent->state, DType::kFp32);
  EXPECT_THAT(problems(of_type("qwen3_5")), HasSubstr("linear_num_value_heads: is missing"));
}

}  // namespace
}  // namespace ridgeline::model
