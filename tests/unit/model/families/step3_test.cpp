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

TEST(Step3, FirstLayersAreDenseAndMostSlide) {
  const ModelSpec spec =
      accepted(with(R"("sliding_window": 64, "num_experts": 8, "num_experts_per_tok": 2,
              "moe_intermediate_size": 32, "share_expert_dim": 32, "first_k_dense_replace": 1,
              "layer_types": ["full_attention", "sliding_attention", "sliding_attention",
                              "full_attention"])",
                    of_type("step3p7")));
  EXPECT_EQ(order(spec), "d1 m2 m1");
  EXPECT_EQ(spec.layers[1].attention.window, 64);
  EXPECT_EQ(std::get<MoeFfn>(spec.layers[1].ffn).shared_width, 32);
  EXPECT_THAT(problems(of_type("step3p7")), HasSubstr("num_experts"));
}

TEST(Step3, LayersWithAWindowHaveHeadsOfTheirOwn) {
  const ModelSpec spec = accepted(with(
      R"("sliding_window": 64, "moe_num_experts": 8, "moe_top_k": 2, "moe_intermediate_size": 32,
         "moe_layers_enum": "2,3,4", "num_nextn_predict_layers": 1, "num_attention_groups": 4,
         "attention_other_setting": {"num_attention_heads": 12, "num_attention_groups": 2,
                                     "head_dim": 8},
         "use_head_wise_attn_gate": true,
         "layer_types": ["full_attention", "sliding_attention", "sliding_attention",
                         "full_attention", "sliding_attention"])",
      of_type("step3p5")));
  EXPECT_EQ(order(spec), "d1 d1 m1 m1");
  EXPECT_EQ(spec.layers[0].attention.kv_heads, 4);
  EXPECT_TRUE(spec.layers[0].attention.head_gate);
  EXPECT_EQ(spec.layers[1].attention.heads, 12);
  EXPECT_EQ(spec.layers[1].attention.kv_heads, 2);
  EXPECT_EQ(spec.layers[1].attention.head_dim, 8);
  EXPECT_EQ(spec.layers[1].attention.window, 64);
  EXPECT_EQ(std::get<MoeFfn>(spec.layers[3].ffn).experts, 8);
}

TEST(Step3, WrongListsAndCountsAreNamed) {
  const std::string base = with(R"("sliding_window": 64, "moe_num_experts": 2, "moe_top_k": 3,
                                   "moe_intermediate_size": 32)",
                                of_type("step3p5"));
  EXPECT_THAT(problems(base), HasSubstr("moe_top_k: 3 is more than moe_num_experts 2"));
  EXPECT_THAT(problems(with(R"("moe_layers_enum": "1-3")", base)),
              HasSubstr("moe_layers_enum: is not a list of layers"));
  EXPECT_THAT(problems(with(R"("num_attention_groups": 3)", base)),
              HasSubstr("num_attention_groups: 3 does not divide num_attention_heads 8"));
  EXPECT_THAT(problems(with(R"("attention_other_setting": {"num_attention_heads": 9})", base)),
              HasSubstr("attention_other_setting.num_attention_groups: 2 does not divide"));
}

}  // namespace
}  // namespace ridgeline::model
