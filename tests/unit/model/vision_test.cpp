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

TEST(Vision, AHeadsWidthMayBeStated) {
  const auto parameters = [](const std::string& more) {
    return accepted(with(R"("vision_config": {"vt_num_hidden_layers": 3, "vt_hidden_size": 16,
                             "vt_intermediate_size": 32, "patch_size": 4)" +
                             more + "}",
                         of_type("qwen3_vl")))
        .vision->parameters;
  };
  EXPECT_EQ(parameters(R"(, "qkv_hidden_size": 24)") - parameters(""), 3.0 * 4 * 16 * 8);
}

TEST(Vision, OneMatrixMayStandForATower) {
  const ModelSpec spec = accepted(with(
      R"("head_dim": 16, "sliding_window": 64, "vision_config": {"model_patch_size": 12,
          "mm_embed_dim": 32, "mm_posemb_size": 5},
         "audio_config": {"model_type": "gemma4_unified_audio", "output_proj_dims": 6})",
      of_type("gemma4_unified")));
  // 3*12*12 pixels: a norm of them, a matrix with bias, a norm, positions of two axes, a norm; into
  // the decoder; sounds by a matrix.
  EXPECT_EQ(spec.vision->parameters,
            2.0 * 432 + 432 * 32 + 32 + 64 + 2 * 5 * 32 + 64 + 32 * 128 + 6 * 128);
  EXPECT_EQ(spec.vision->tokens(24, 24), 4);
}

TEST(Vision, AnEncoderOfSoundsIsCountedWithIt) {
  const auto with_audio = [](const std::string& audio) {
    return with(R"("head_dim": 16, "sliding_window": 64, "vision_config": {
                    "model_type": "gemma4_vision", "num_hidden_layers": 1, "hidden_size": 8,
                    "intermediate_size": 8, "patch_size": 4}, "audio_config": )" +
                    audio,
                of_type("gemma4"));
  };
  // Two feed-forward networks of 4 widths, 5 matrices of attention, 3 around a convolution of 5.
  const double layer = (16.0 + 5 + 3) * 64 + 9 * 8 + 5 * 8;
  EXPECT_EQ(accepted(with_audio(R"({"model_type": "gemma4_audio", "hidden_size": 8,
                                    "num_hidden_layers": 2, "conv_kernel_size": 5,
                                    "output_proj_dims": 6})"))
                    .vision->parameters -
                accepted(with_audio("null")).vision->parameters,
            2 * layer + 64 + 6 * (8 + 1 + 128));
  EXPECT_THAT(problems(with_audio(R"({"model_type": "whisper"})")),
              testing::HasSubstr("an audio encoder"));
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
