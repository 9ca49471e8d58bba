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

const std::string kGlm =
    with(R"("q_lora_rank": 24, "kv_lora_rank": 16, "qk_rope_head_dim": 4, "qk_nope_head_dim": 8,
            "v_head_dim": 6, "n_routed_experts": 8, "num_experts_per_tok": 2,
            "n_shared_experts": 1, "moe_intermediate_size": 32, "first_k_dense_replace": 1,
            "index_topk": 64, "index_n_heads": 4, "index_head_dim": 8)",
         of_type("glm_moe_dsa"));

TEST(GlmMoeDsa, LayersMayShareAnIndexer) {
  const ModelSpec spec =
      accepted(with("\"indexer_types\": [\"full\", \"full\", \"shared\", \"shared\"]", kGlm));
  EXPECT_EQ(order(spec), "d1 m1 m2");
  EXPECT_TRUE(spec.layers[1].attention.sparse->own_scores);
  EXPECT_FALSE(spec.layers[2].attention.sparse->own_scores);
  EXPECT_THAT(problems(with("\"indexer_types\": [\"full\"]", kGlm)),
              HasSubstr("indexer_types: has 1 entries, expected 4"));
}

TEST(GlmMoeDsa, LayersMayBeListedAsDense) {
  EXPECT_EQ(order(accepted(
                with("\"mlp_layer_types\": [\"dense\", \"sparse\", \"dense\", \"sparse\"]", kGlm))),
            "d1 m1 d1 m1");
}

}  // namespace
}  // namespace ridgeline::model
