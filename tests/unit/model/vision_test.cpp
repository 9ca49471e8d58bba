#include "model/vision.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_spec.hpp"
#include "unit/model/config_text.hpp"

namespace ridgeline::model {
namespace {

TEST(Vision, IsCountedFromItsSizes) {
  const ModelSpec spec = accepted(with(
      R"("vision_config": {"depth": 2, "hidden_size": 16, "intermediate_size": 32, "patch_size": 4,
          "spatial_merge_size": 2, "out_hidden_size": 128, "num_position_embeddings": 10})",
      of_type("qwen3_vl")));
  ASSERT_TRUE(spec.vision.has_value());
  // A layer: 4*16^2 + 2*16*32 matrices, 5*16 + 32 biases, 4*16 norms; patches 3*4*4 -> 16;
  // positions; merger 64 -> 64 -> 128.
  const double layer = 4 * 256 + 2 * 512 + 5 * 16 + 32 + 64;
  EXPECT_EQ(spec.vision->parameters, 2 * layer + 48 * 16 + 160 + 64 * 64 + 64 * 128);
  EXPECT_EQ(spec.vision->tokens(16, 9), 2 * 2);
  EXPECT_EQ(total_parameters(spec) - active_parameters(spec), spec.vision->parameters);
}

TEST(Vision, WithoutSizesItIsLeftOutAndSaysSo) {
  const ModelSpec spec = accepted(with(R"("vision_config": {})", of_type("qwen3_vl")));
  EXPECT_FALSE(spec.vision.has_value());
  EXPECT_THAT(spec.provenance,
              testing::Contains(testing::Pair("vision", testing::HasSubstr("not counted"))));
  EXPECT_THAT(problems(with(R"("vision_config": {"depth": "two"})", of_type("qwen3_vl"))),
              testing::HasSubstr("vision_config.depth"));
}

}  // namespace
}  // namespace ridgeline::model
