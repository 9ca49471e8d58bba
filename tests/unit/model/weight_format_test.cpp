#include "model/weight_format.hpp"

#include <string>

#include <gtest/gtest.h>

#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {
namespace {

ModelSpec network(const std::string& name) {
  return find_model(name).value();
}

TEST(WeightFormat, IsThatOfExpertsWhereThereAreSome) {
  EXPECT_EQ(main_weight_format(network("llama-3.1-8b")), DType::kBf16);
  EXPECT_EQ(main_weight_format(network("llama-3.1-8b-fp8")), DType::kFp8);
  EXPECT_EQ(main_weight_format(network("deepseek-v3")), DType::kFp8Block);
  EXPECT_EQ(main_weight_format(network("gpt-oss-120b")), DType::kMxfp4);
  EXPECT_EQ(main_weight_format(network("kimi-k2.5-nvfp4")), DType::kNvfp4);
}

TEST(WeightFormat, KnowsNetworksWithExperts) {
  EXPECT_FALSE(has_experts(network("llama-3.1-8b")));
  EXPECT_TRUE(has_experts(network("deepseek-v3")));
  EXPECT_TRUE(has_experts(network("mixtral-8x7b")));
}

}  // namespace
}  // namespace ridgeline::model
