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

TEST(BailingHybrid, TheLastLayerOfEveryGroupIsLatent) {
  const std::string ling = with(R"("head_dim": 16, "q_lora_rank": null, "kv_lora_rank": 32,
            "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16, "num_experts": 8,
            "num_experts_per_tok": 2, "num_shared_experts": 1, "moe_intermediate_size": 32,
            "first_k_dense_replace": 1, "layer_group_size": 2, "short_conv_kernel_size": 4)",
                                of_type("bailing_hybrid"));
  const ModelSpec spec = accepted(ling);
  EXPECT_EQ(order(spec), "d1 m1 m1 m1");
  EXPECT_EQ(spec.layers[0].recurrent->kind, RecurrentSpec::Kind::kKimiDelta);
  EXPECT_EQ(spec.layers[0].recurrent->heads, 8);
  EXPECT_EQ(spec.layers[0].recurrent->gate_rank, 0);
  EXPECT_EQ(spec.layers[0].recurrent->decay_rank, 0);
  EXPECT_TRUE(spec.layers[1].attention.latent.has_value());
  EXPECT_EQ(std::get<MoeFfn>(spec.layers[1].ffn).shared_width, 32);
  // Ling 2.6 has no convolution, and another linear attention.
  EXPECT_THAT(problems(of_type("bailing_hybrid")), HasSubstr("short_conv_kernel_size: is missing"));
}

}  // namespace
}  // namespace ridgeline::model
