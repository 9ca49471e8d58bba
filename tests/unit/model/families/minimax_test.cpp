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

const std::string kMinimax =
    with(R"("num_local_experts": 8, "num_experts_per_tok": 2)", of_type("minimax_m2"));

TEST(Minimax, NormsAreOverAllHeads) {
  const ModelSpec spec = accepted(kMinimax);
  EXPECT_EQ(order(spec), "m4");
  EXPECT_TRUE(spec.layers[0].attention.qk_norm_across_heads);
  EXPECT_EQ(std::get<MoeFfn>(spec.layers[0].ffn).expert_width, 96);
}

TEST(Minimax, TheThirdGenerationChoosesBlocksOfTokens) {
  const ModelSpec spec = accepted(
      with(R"("num_local_experts": 8, "num_experts_per_tok": 2, "shared_intermediate_size": 32,
              "dense_intermediate_size": 64, "moe_layer_freq": [0, 1, 1, 1],
              "sparse_attention_config": {"sparse_topk_blocks": 4, "sparse_block_size": 16,
                 "sparse_num_index_heads": 2, "sparse_index_dim": 8,
                 "sparse_attention_freq": [0, 1, 1, 1]})",
           of_type("minimax_m3")));
  EXPECT_EQ(order(spec), "d1 m3");
  EXPECT_EQ(std::get<DenseFfn>(spec.layers[0].ffn).width, 64);
  EXPECT_FALSE(spec.layers[0].attention.sparse.has_value());
  EXPECT_EQ(spec.layers[1].attention.sparse,
            (SparseSpec{.selected = 64, .heads = 2, .head_dim = 8}));
  EXPECT_THAT(problems(of_type("minimax_m3")), HasSubstr("num_local_experts"));
}

}  // namespace
}  // namespace ridgeline::model
