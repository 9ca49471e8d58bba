#include <cstdint>
#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {
namespace {

ModelSpec network(std::int64_t heads, std::int64_t kv_heads, std::int64_t width) {
  ModelSpec spec;
  spec.hidden_size = heads * 8;
  spec.vocab_size = 100;
  spec.layers = {{.count = 2,
                  .attention = {.heads = heads, .kv_heads = kv_heads, .head_dim = 8},
                  .ffn = DenseFfn{.width = width}}};
  return spec;
}

std::string refusal(const ModelSpec& spec, std::int64_t ranks) {
  const auto result = check_sharding(spec, {.tensor_parallel_size = ranks});
  return result ? "accepted" : result.error().front().message;
}

TEST(CheckSharding, AcceptsWhatDivides) {
  for (const std::int64_t ranks : {1, 2, 4, 8, 16, 32}) {
    EXPECT_EQ(refusal(network(32, 8, 14336), ranks), "accepted") << ranks;
  }
}

TEST(CheckSharding, NamesHeadsAndTheSizesThatDivideThem) {
  EXPECT_EQ(refusal(network(32, 8, 14336), 3),
            "tensor_parallel_size 3 does not divide 32 attention heads; sizes that do: "
            "1, 2, 4, 8, 16, 32");
}

TEST(CheckSharding, NamesKvHeadsThatNeitherDivideNorAreCopied) {
  // 6 KV heads: 4 ranks could neither share them out nor hold whole copies.
  EXPECT_EQ(refusal(network(24, 6, 48), 4),
            "tensor_parallel_size 4 does not divide 6 KV heads; sizes that do: 1, 2, 3, 6, 12, 24");
}

TEST(CheckSharding, NamesWidths) {
  EXPECT_EQ(
      refusal(network(32, 8, 100), 8),
      "tensor_parallel_size 8 does not divide 100 feed-forward columns; sizes that do: 1, 2, 4");
  ModelSpec spec = network(32, 8, 1);
  spec.layers.front().ffn =
      MoeFfn{.experts = 4, .experts_per_token = 1, .expert_width = 12, .shared_width = 30};
  EXPECT_EQ(refusal(spec, 8),
            "tensor_parallel_size 8 does not divide 12 columns of an expert; sizes that do: 1, 2");
  EXPECT_EQ(
      refusal(spec, 4),
      "tensor_parallel_size 4 does not divide 30 columns of the shared expert; sizes that do: "
      "1, 2");
}

TEST(CheckSharding, TheVocabularyNeedNotDivide) {
  EXPECT_EQ(refusal(network(24, 24, 48), 24), "accepted");  // of 100 tokens
}

TEST(CheckSharding, ListsNoMoreSizesThanALineHolds) {
  // 5040 has 60 divisors.
  EXPECT_THAT(refusal(network(5040, 5040, 5040), 11),
              testing::EndsWith("sizes that do: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, ..."));
}

TEST(CheckSharding, RefusesNoRanksAndNegativeOnes) {
  EXPECT_EQ(refusal(network(32, 8, 64), 0), "0 is out of range, expected 1 or more");
  EXPECT_EQ(refusal(network(32, 8, 64), -4), "-4 is out of range, expected 1 or more");
  const auto result = check_sharding(network(32, 8, 64), {.tensor_parallel_size = 5});
  EXPECT_EQ(result.error().front().field, "engine.tensor_parallel_size");
}

/// `dense` layers, then `moe` layers of 8 experts.
ModelSpec two_kinds(std::int64_t dense, std::int64_t moe) {
  ModelSpec spec = network(32, 8, 64);
  spec.layers.front().count = dense;
  spec.layers.push_back(spec.layers.front());
  spec.layers.back().count = moe;
  spec.layers.back().ffn = MoeFfn{.experts = 8, .experts_per_token = 2, .expert_width = 64};
  return spec;
}

TEST(CheckRanks, AStageNeedNotHaveAsManyLayersAsThereAreStages) {
  // 80 layers in 16 stages are 5 in each.
  ModelSpec spec = network(32, 8, 64);
  spec.layers.front().count = 80;
  const Sharding sharding{.tensor_parallel_size = 2, .pipeline_parallel_size = 16};
  ASSERT_TRUE(check_sharding(spec, sharding));
  for (const ModelSpec& stage : pipeline_stages(spec, 16)) {
    EXPECT_EQ(stage.num_layers(), 5);
    EXPECT_TRUE(check_ranks(stage, sharding));
    EXPECT_FALSE(forward_pass(stage, sharding).empty());
  }
  // The last is the heaviest: the head beside its layers, as wide as the embedding, and a norm.
  const Sharding alone{.tensor_parallel_size = 2};
  EXPECT_EQ(weight_bytes_per_rank(spec, sharding),
            weight_bytes_per_rank(pipeline_stages(spec, 16).back(), alone));
}

TEST(CheckRanks, AStageOfANetworkWithExpertsMayBeWithout) {
  const ModelSpec spec = two_kinds(2, 6);
  const Sharding sharding{
      .tensor_parallel_size = 2, .pipeline_parallel_size = 4, .expert_parallel = true};
  ASSERT_TRUE(check_sharding(spec, sharding));
  const auto stages = pipeline_stages(spec, 4);
  EXPECT_FALSE(forward_pass(stages.front(), sharding).empty());
  // As a network of its own it has nothing to do with that setting.
  EXPECT_EQ(check_sharding(stages.front(), {.expert_parallel = true}).error().front().message,
            "the network has no experts");
}

TEST(CheckRanks, EveryLayerWithExpertsMustShareThemOut) {
  // The narrowest layer divides by 4, the wider one does not.
  ModelSpec spec = two_kinds(1, 1);
  spec.layers.push_back(spec.layers.back());
  std::get<MoeFfn>(spec.layers.back().ffn).expert_width = 66;
  const auto result = check_sharding(spec, {.data_parallel_size = 4});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().front().message,
            "4 x tensor_parallel_size 1 does not divide 66 columns of an expert; "
            "enable_expert_parallel hands out whole experts");
}

}  // namespace
}  // namespace ridgeline::model
