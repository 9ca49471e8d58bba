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

const std::string kFullQueries =
    with(R"("kv_lora_rank": 16, "qk_rope_head_dim": 4, "qk_nope_head_dim": 8,
            "v_head_dim": 6, "n_routed_experts": 8, "num_experts_per_tok": 2,
            "n_shared_experts": 2, "moe_intermediate_size": 32, "first_k_dense_replace": 1)",
         of_type("deepseek_v3"));
const std::string kDeepseek = with("\"q_lora_rank\": 24", kFullQueries);

TEST(Deepseek, HasLatentAttentionAndAFirstDenseLayer) {
  const ModelSpec spec = accepted(kDeepseek);
  EXPECT_EQ(order(spec), "d1 m3");
  EXPECT_EQ(
      spec.layers[0].attention.latent,
      (LatentSpec{.query_rank = 24, .kv_rank = 16, .rope_dim = 4, .nope_dim = 8, .value_dim = 6}));
  const auto& moe = std::get<MoeFfn>(spec.layers[1].ffn);
  EXPECT_EQ(moe.shared_width, 64);  // two of 32
  EXPECT_FALSE(moe.router_bias);
  EXPECT_TRUE(
      std::get<MoeFfn>(accepted(with("\"topk_method\": \"noaux_tc\"", kDeepseek)).layers[1].ffn)
          .router_bias);
}

TEST(Deepseek, QueriesMayComeStraightFromTheHiddenState) {
  const ModelSpec spec = accepted(kFullQueries);
  EXPECT_EQ(spec.layers[0].attention.latent->query_rank, 0);
}

TEST(Deepseek, AnIndexerComesWithItsSizes) {
  const ModelSpec spec =
      accepted(with(R"("index_topk": 64, "index_n_heads": 4, "index_head_dim": 8)", kDeepseek));
  EXPECT_EQ(spec.layers[0].attention.sparse,
            (SparseSpec{.selected = 64, .heads = 4, .head_dim = 8, .query_rank = 24}));
  EXPECT_THAT(problems(with("\"index_topk\": 64", kDeepseek)), HasSubstr("index_n_heads"));
  EXPECT_THAT(problems(of_type("deepseek_v3")), HasSubstr("kv_lora_rank: is missing"));
}

}  // namespace
}  // namespace ridgeline::model
