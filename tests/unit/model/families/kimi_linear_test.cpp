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

const std::string kKimi = with(R"("q_lora_rank": null, "kv_lora_rank": 32,
            "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16,
            "num_experts": 8, "num_experts_per_token": 2, "num_shared_experts": 1,
            "moe_intermediate_size": 32, "first_k_dense_replace": 1,
            "linear_attn_config": {"num_heads": 4, "head_dim": 16, "short_conv_kernel_size": 4,
                                   "kda_layers": [1, 2, 3], "full_attn_layers": [4]})",
                               of_type("kimi_linear"));

TEST(KimiLinear, ThreeDeltaLayersThenLatentAttention) {
  const ModelSpec spec = accepted(kKimi);
  EXPECT_EQ(order(spec), "d1 m2 m1");
  const RecurrentSpec& delta = *spec.layers[0].recurrent;
  EXPECT_EQ(delta.kind, RecurrentSpec::Kind::kKimiDelta);
  EXPECT_EQ(delta.key_heads, 4);
  EXPECT_EQ(delta.gate_rank, 16);
  EXPECT_EQ(delta.decay_rank, 16);
  EXPECT_EQ(delta.state, DType::kFp32);
  EXPECT_FALSE(spec.layers[2].recurrent.has_value());
  EXPECT_EQ(spec.layers[2].attention.latent->kv_rank, 32);
  // 3 states of 4 heads of 16 x 16 in 32 bits, and 3 taps of queries, keys and values in 16.
  EXPECT_EQ(state_bytes_per_rank(spec, {}).value(), 3.0 * (4 * 16 * 16 * 4 + 3 * 3 * 64 * 2));
  EXPECT_EQ(kv_bytes_per_token_per_rank(spec, {}).value(), (32.0 + 8) * 2);
}

TEST(KimiLinear, TheGateMayHaveOneMatrixAndTheExpertsAWidth) {
  std::string k3 = kKimi;
  k3.replace(k3.find("\"num_heads\""), 11, "\"use_full_rank_gate\": true, \"num_heads\"");
  const ModelSpec full = accepted(k3);
  EXPECT_EQ(full.layers[0].recurrent->gate_rank, 0);
  EXPECT_EQ(full.layers[0].recurrent->decay_rank, 16);
  EXPECT_EQ(total_parameters(full) - total_parameters(accepted(kKimi)),
            3.0 * (128 * 64 - 128 * 16 - 16 * 64));
  const ModelSpec latent =
      accepted(with(R"("routed_expert_hidden_size": 64, "mla_use_output_gate": true)", kKimi));
  EXPECT_EQ(std::get<MoeFfn>(latent.layers[1].ffn).latent, 64);
  // Half of 8 experts in 3 layers, with two projections; a gate of 8 heads of 16.
  EXPECT_EQ(total_parameters(latent) - total_parameters(accepted(kKimi)),
            3.0 * (2 * 128 * 64 - 8 * 3 * 64 * 32) + 128.0 * 8 * 16);
}

TEST(KimiLinear, MissingAndWrongKeysAreNamed) {
  EXPECT_THAT(problems(of_type("kimi_k3")),
              testing::AllOf(HasSubstr("linear_attn_config: is missing"),
                             HasSubstr("num_experts: is missing")));
  EXPECT_THAT(
      problems(with(R"("linear_attn_config": {"kda_layers": [5]})", of_type("kimi_linear"))),
      HasSubstr("kda_layers"));
  std::string many = kKimi;
  many.replace(many.find("_per_token\": 2"), 14, "_per_token\": 9");
  EXPECT_THAT(problems(many), HasSubstr("9 is more than num_experts 8"));
}

}  // namespace
}  // namespace ridgeline::model
