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

const std::string kNext = with(R"("q_lora_rank": 24, "kv_lora_rank": 32, "qk_nope_head_dim": 16,
            "qk_rope_head_dim": 0, "v_head_dim": 16, "n_routed_experts": 8,
            "num_experts_per_tok": 2, "n_shared_experts": 1, "moe_intermediate_size": 32,
            "index_topk": 64, "index_n_heads": 4, "index_head_dim": 8, "index_kpool": 4,
            "index_kpool_compress": true, "hc_mult": 4,
            "linear_attn_config": {"num_heads": 4, "head_dim": 16, "short_conv_kernel_size": 4})",
                               of_type("glm5_next"));

TEST(Glm5Next, DeltaLayersAndSparseLatentOnes) {
  const ModelSpec spec =
      accepted(with(R"("mlp_layer_types": ["dense", "sparse", "sparse", "sparse"],
              "layer_types": ["linear_attention", "linear_attention", "linear_attention",
                              "deepseek_sparse_attention"])",
                    kNext));
  EXPECT_EQ(order(spec), "d1 m2 m1");
  EXPECT_EQ(spec.layers[0].recurrent->gate_rank, 16);
  EXPECT_EQ(spec.layers[2].attention.sparse->pool, 4);
  EXPECT_EQ(spec.residual_streams, 4);
  // The latent vector without a rotary part, and a key of 8 and its scale for 4 tokens.
  EXPECT_EQ(kv_bytes_per_token_per_rank(spec, {}).value(), 32.0 * 2 + (8 + 4) / 4.0);
}

TEST(Glm5Next, LayersMustBeListed) {
  EXPECT_THAT(problems(kNext), HasSubstr("layer_types: is missing"));
  EXPECT_THAT(problems(of_type("glm5_next")), HasSubstr("linear_attn_config: is missing"));
}

}  // namespace
}  // namespace ridgeline::model
