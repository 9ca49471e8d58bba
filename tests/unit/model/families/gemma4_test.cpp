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

TEST(Gemma4, LastLayersReadTheCacheOfEarlierOnes) {
  const ModelSpec spec =
      accepted(with(R"("num_kv_shared_layers": 2, "use_double_wide_mlp": true)", kGemma4));
  EXPECT_EQ(order(spec), "d2 d1 d1");
  EXPECT_FALSE(spec.layers[0].attention.earlier_cache);
  EXPECT_TRUE(spec.layers[1].attention.earlier_cache);
  EXPECT_EQ(spec.layers[1].attention.window, 64);
  EXPECT_TRUE(spec.layers[2].attention.earlier_cache);
  EXPECT_EQ(std::get<DenseFfn>(spec.layers[0].ffn).width, 96);
  EXPECT_EQ(std::get<DenseFfn>(spec.layers[2].ffn).width, 192);
  // Two layers of 2 KV heads of 16, keys and values, 2 bytes; their own queries alone are
  // projected.
  EXPECT_EQ(kv_bytes_per_token_per_rank(spec, {}).value(), 2.0 * 2 * 2 * 16 * 2);
  const ModelSpec whole = accepted(kGemma4);
  const double fewer = 128.0 * 2 * 32 + 16 + 128.0 * 32 + 32;  // keys and values; keys are values
  const double wider = 2 * 3.0 * 128 * 96;
  EXPECT_EQ(total_parameters(whole) - total_parameters(spec), fewer - wider);
  EXPECT_EQ(cache_groups(spec, {}).size(), 1U);
}

TEST(Gemma4, ARowOfATablePerLayer) {
  const ModelSpec spec = accepted(with("\"hidden_size_per_layer_input\": 8", kGemma4));
  // For 4 layers: a table, a gate and a projection, a norm; for all of them one projection and
  // norm.
  const double layers = 4.0 * (1000 * 8 + 2 * 128 * 8 + 128);
  EXPECT_EQ(total_parameters(spec) - total_parameters(accepted(kGemma4)),
            layers + 128.0 * 4 * 8 + 8);
  EXPECT_THAT(problems(with(R"("hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 9)",
                            kGemma4)),
              HasSubstr("a table of other tokens is not modelled yet"));
}

TEST(Gemma4, WhatIsNotUnderstoodIsRefused) {
  EXPECT_THAT(problems(with(R"("use_double_wide_mlp": true, "enable_moe_block": true,
                               "num_experts": 8, "top_k_experts": 2, "moe_intermediate_size": 32)",
                            kGemma4)),
              HasSubstr("a wider dense network beside experts is not modelled yet"));
}

}  // namespace
}  // namespace ridgeline::model
