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

const std::string kNemotron =
    with(R"("head_dim": 16, "mamba_num_heads": 8, "mamba_head_dim": 8, "n_groups": 2,
            "ssm_state_size": 16, "conv_kernel": 4, "n_routed_experts": 8,
            "num_experts_per_tok": 2, "moe_intermediate_size": 32)",
         of_type("nemotron_h"));

TEST(NemotronH, EachLayerIsOneBlock) {
  const ModelSpec spec = accepted(with("\"hybrid_override_pattern\": \"M*E-\"", kNemotron));
  ASSERT_EQ(spec.layers.size(), 4U);
  EXPECT_EQ(spec.layers[0].recurrent->key_dim, 16);
  EXPECT_EQ(spec.layers[1].attention.heads, 8);
  EXPECT_FALSE(std::get<MoeFfn>(spec.layers[2].ffn).gated);
  EXPECT_EQ(std::get<DenseFfn>(spec.layers[3].ffn).width, 96);
  EXPECT_EQ(spec.layers[0].norms, 1);
  EXPECT_EQ(
      accepted(with(R"("layers_block_type": ["mamba", "attention", "moe", "mlp"])", kNemotron))
          .layers,
      spec.layers);
}

TEST(NemotronH, OddPatternsAreProblems) {
  EXPECT_THAT(problems(with("\"hybrid_override_pattern\": \"M*\"", kNemotron)),
              HasSubstr("has 2 letters, expected 4"));
  EXPECT_THAT(problems(with("\"hybrid_override_pattern\": \"M*X-\"", kNemotron)),
              HasSubstr("has the letter 'X'"));
}

}  // namespace
}  // namespace ridgeline::model
