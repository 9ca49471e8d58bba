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

const std::string kGemma4 = with(R"("head_dim": 16, "sliding_window": 64, "global_head_dim": 32,
            "num_global_key_value_heads": 1, "attention_k_eq_v": true,
            "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention",
                            "full_attention"])",
                                 of_type("gemma4"));

TEST(Gemma4, GlobalLayersHaveHeadsOfTheirOwn) {
  const ModelSpec spec = accepted(kGemma4);
  EXPECT_EQ(order(spec), "d3 d1");
  EXPECT_EQ(spec.layers[0].attention.head_dim, 16);
  EXPECT_FALSE(spec.layers[0].attention.values_are_keys);
  EXPECT_EQ(spec.layers[1].attention.head_dim, 32);
  EXPECT_EQ(spec.layers[1].attention.kv_heads, 1);
  EXPECT_TRUE(spec.layers[1].attention.values_are_keys);
}

TEST(Gemma4, ExpertsStandBesideTheDenseNetwork) {
  const ModelSpec spec =
      accepted(with(R"("enable_moe_block": true, "num_experts": 8, "top_k_experts": 2,
                       "moe_intermediate_size": 32)",
                    kGemma4));
  EXPECT_EQ(std::get<MoeFfn>(spec.layers[0].ffn).shared_width, 96);
}

TEST(Gemma4, WhatIsNotUnderstoodIsRefused) {
  EXPECT_THAT(problems(with("\"hidden_size_per_layer_input\": 8", kGemma4)),
              HasSubstr("an embedding per layer is not modelled yet"));
  EXPECT_THAT(problems(with("\"num_kv_shared_layers\": 2", kGemma4)),
              HasSubstr("sharing keys and values between layers is not modelled yet"));
}

}  // namespace
}  // namespace ridgeline::model
