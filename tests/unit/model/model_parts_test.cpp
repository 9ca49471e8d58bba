#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {
namespace {

ModelSpec of_layers(std::int64_t count) {
  ModelSpec spec;
  spec.hidden_size = 16;
  spec.vocab_size = 10;
  spec.layers = {{.count = 2,
                  .attention = {.heads = 4, .kv_heads = 2, .head_dim = 4},
                  .ffn = DenseFfn{.width = 24}},
                 {.count = count - 2,
                  .attention = {.heads = 4, .kv_heads = 2, .head_dim = 4},
                  .ffn = MoeFfn{.experts = 4, .experts_per_token = 2, .expert_width = 8}}};
  return spec;
}

std::vector<std::int64_t> sizes(const std::vector<ModelSpec>& stages) {
  std::vector<std::int64_t> all;
  for (const ModelSpec& stage : stages) {
    all.push_back(stage.num_layers());
  }
  return all;
}

TEST(ModelParts, StagesAreCutAsVllmDoes) {
  // get_pp_indices: what is left over goes to the last stages but the very last.
  EXPECT_EQ(sizes(pipeline_stages(of_layers(8), 4)), (std::vector<std::int64_t>{2, 2, 2, 2}));
  EXPECT_EQ(sizes(pipeline_stages(of_layers(9), 4)), (std::vector<std::int64_t>{2, 2, 3, 2}));
  EXPECT_EQ(sizes(pipeline_stages(of_layers(11), 4)), (std::vector<std::int64_t>{3, 3, 3, 2}));
}

TEST(ModelParts, StagesHoldTheWholeNetworkOnce) {
  const ModelSpec whole = of_layers(9);
  double sum = 0;
  for (const ModelSpec& stage : pipeline_stages(whole, 3)) {
    sum += total_parameters(stage);
  }
  EXPECT_EQ(sum, total_parameters(whole));
  EXPECT_EQ(pipeline_stages(whole, 3)[0].layers.size(), 2U);
  EXPECT_TRUE(pipeline_stages(whole, 3)[0].has_embedding);
  EXPECT_FALSE(pipeline_stages(whole, 3)[0].has_head);
}

TEST(ModelParts, ADraftingNetworkSharesEmbeddingAndHead) {
  ModelSpec spec = of_layers(4);
  EXPECT_EQ(draft_network(spec), std::nullopt);
  spec.draft_layers = {spec.layers[0]};
  spec.draft_layers[0].count = 1;
  const auto draft = draft_network(spec);
  ASSERT_TRUE(draft.has_value());
  // One dense layer: q and o 2*16*16, k and v 2*16*8, 3*16*24, two norms; the projection of two
  // hidden vectors and their norms; the last norm.
  EXPECT_EQ(total_parameters(*draft), 512 + 256 + 1152 + 32 + 2 * 16 * 16 + 32 + 16);
}

TEST(ModelParts, OneFormatForAllWeights) {
  ModelSpec spec = of_layers(4);
  spec.layers[0].precision = LayerPrecision{.mixer_in = DType::kInt4};
  set_weight_format(spec, DType::kFp8);
  EXPECT_EQ(spec.precision.attention, DType::kFp8);
  EXPECT_EQ(spec.precision.ffn, DType::kFp8);
  EXPECT_FALSE(spec.layers[0].precision.has_value());
}

}  // namespace
}  // namespace ridgeline::model
