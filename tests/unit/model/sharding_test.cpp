#include <cstdint>
#include <string>

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

}  // namespace
}  // namespace ridgeline::model
