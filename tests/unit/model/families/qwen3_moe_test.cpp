#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_spec.hpp"
#include "unit/model/config_text.hpp"

namespace ridgeline::model {
namespace {

using testing::HasSubstr;

const std::string kQwenMoe =
    with(R"("num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32)",
         of_type("qwen3_moe"));

TEST(Qwen3Moe, HasExpertsInEveryLayerByDefault) {
  const ModelSpec spec = accepted(kQwenMoe);
  EXPECT_EQ(order(spec), "m4");
  EXPECT_TRUE(spec.layers.front().attention.qk_norm);
  EXPECT_EQ(std::get<MoeFfn>(spec.layers.front().ffn),
            (MoeFfn{.experts = 8, .experts_per_token = 2, .expert_width = 32}));
}

TEST(Qwen3Moe, PlacesItsExpertsBySparseStepAndList) {
  // Layers 1 and 3 (from 0) are the second and the fourth.
  EXPECT_EQ(order(accepted(with("\"decoder_sparse_step\": 2", kQwenMoe))), "d1 m1 d1 m1");
  EXPECT_EQ(order(accepted(with("\"decoder_sparse_step\": 5", kQwenMoe))), "d4");
  const ModelSpec spec = accepted(with("\"mlp_only_layers\": [3, 0]", kQwenMoe));
  EXPECT_EQ(order(spec), "d1 m2 d1");
  EXPECT_EQ(std::get<DenseFfn>(spec.layers.front().ffn).width, 96);
}

TEST(Qwen3Moe, LayersThatDoNotExistAreRefused) {
  EXPECT_THAT(problems(with("\"mlp_only_layers\": [4]", kQwenMoe)), HasSubstr("mlp_only_layers"));
  EXPECT_THAT(problems(with("\"mlp_only_layers\": [-1]", kQwenMoe)), HasSubstr("mlp_only_layers"));
  EXPECT_THAT(problems(with("\"decoder_sparse_step\": 0", kQwenMoe)),
              HasSubstr("decoder_sparse_step"));
}

TEST(Qwen3Moe, ASharedExpertIsRefused) {
  EXPECT_THAT(problems(with("\"shared_expert_intermediate_size\": 64", kQwenMoe)),
              HasSubstr("a shared expert in qwen3_moe is not modelled yet"));
  EXPECT_EQ(problems(with("\"shared_expert_intermediate_size\": 0", kQwenMoe)), "accepted");
}

}  // namespace
}  // namespace ridgeline::model
