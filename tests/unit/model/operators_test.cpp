#include "model/operators.hpp"

#include <string>

#include <gtest/gtest.h>

namespace ridgeline::model {
namespace {

Operator op(std::int64_t calls, Shape shape) {
  return {.name = "op", .calls = calls, .shape = shape};
}

TEST(Operators, FormatsHaveTheirSizes) {
  EXPECT_EQ(bytes_per_element(DType::kFp32), 4.0);
  EXPECT_EQ(bytes_per_element(DType::kBf16), 2.0);
  EXPECT_EQ(bytes_per_element(DType::kFp16), 2.0);
  EXPECT_EQ(bytes_per_element(DType::kFp8), 1.0);
  EXPECT_EQ(bytes_per_element(DType::kInt8), 1.0);
  EXPECT_EQ(bytes_per_element(DType::kInt4), 0.5 + 2.5 / 128.0);  // A scale and a zero for 128
  EXPECT_EQ(bytes_per_element(DType::kMxfp4), 17.0 / 32.0);       // 32 half bytes and one scale
  EXPECT_EQ(bytes_per_element(DType::kNvfp4), 9.0 / 16.0);        // 16 half bytes and one scale
  EXPECT_EQ(std::string(name(DType::kNvfp4)), "nvfp4");
  EXPECT_EQ(std::string(name(DType::kBf16)), "bf16");
}

TEST(Operators, GemmStoresItsMatrixAndItsBias) {
  const Operator gemm = op(3, Gemm{.k = 10, .n = 7, .weights = DType::kFp8, .bias = true});
  EXPECT_EQ(parameters(gemm), 3.0 * (70 + 7));
  // The matrix in one byte each, the bias in two.
  EXPECT_EQ(weight_bytes(gemm).value(), 3.0 * (70 + 14));
}

TEST(Operators, TiedWeightsAreStoredOnce) {
  const Operator tied = op(1, Gemm{.k = 10, .n = 7, .rows = Rows::kSampled, .tied = true});
  EXPECT_EQ(parameters(tied), 0.0);
  EXPECT_EQ(weight_bytes(tied).value(), 0.0);
}

TEST(Operators, ExpertsStoreThreeMatricesEach) {
  const Operator experts = op(2,
                              ExpertGemm{.experts = 8,
                                         .experts_on_rank = 4,
                                         .experts_per_token = 2,
                                         .hidden = 10,
                                         .width = 6,
                                         .weights = DType::kInt8});
  EXPECT_EQ(parameters(experts), 2.0 * 4 * 3 * 10 * 6);
  EXPECT_EQ(weight_bytes(experts).value(), 2.0 * 4 * 3 * 10 * 6);
}

TEST(Operators, AttentionAloneNeedsKvCache) {
  const Operator attention =
      op(5, Attention{.heads = 8, .kv_heads = 2, .head_dim = 16, .kv = DType::kFp8});
  // keys and values x 5 layers x 2 heads x 16 x 1 byte
  EXPECT_EQ(kv_bytes_per_token(attention).value(), 2.0 * 5 * 2 * 16 * 1);
  EXPECT_EQ(parameters(attention), 0.0);
  EXPECT_EQ(kv_bytes_per_token(op(5, Gemm{.k = 10, .n = 7})).value(), 0.0);
}

TEST(Operators, NormsAndEmbeddingsHaveWeightsAndTheRestHasNone) {
  EXPECT_EQ(parameters(op(4, Norm{.width = 9})), 36.0);
  EXPECT_EQ(weight_bytes(op(4, Norm{.width = 9})).value(), 72.0);
  EXPECT_EQ(parameters(op(1, Embedding{.vocab = 100, .width = 9})), 900.0);
  EXPECT_EQ(weight_bytes(op(1, Embedding{.vocab = 100, .width = 9})).value(), 1800.0);
  EXPECT_EQ(parameters(op(1, LayerElementwise{.hidden = 9})), 0.0);
  EXPECT_EQ(parameters(op(1, AllReduce{.width = 9, .ranks = 2})), 0.0);
  EXPECT_EQ(parameters(op(1, Sampling{.vocab = 9})), 0.0);
}

}  // namespace
}  // namespace ridgeline::model
