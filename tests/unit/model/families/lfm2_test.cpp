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

const std::string kConv = R"("conv_L_cache": 3, "layer_types": ["conv", "conv",
                                 "full_attention", "conv"])";

TEST(Lfm2, ShortConvolutionsInPlaceOfAttention) {
  const ModelSpec spec = accepted(with(kConv, of_type("lfm2")));
  EXPECT_EQ(order(spec), "d2 d1 d1");
  EXPECT_TRUE(spec.tied_embeddings);
  EXPECT_EQ(spec.layers[0].recurrent->kind, RecurrentSpec::Kind::kShortConv);
  // Two thirds of 96, up to 256.
  EXPECT_EQ(std::get<DenseFfn>(spec.layers[0].ffn).width, 256);
  // In 3 widths, out one, 3 taps.
  const double convolution = 4.0 * 128 * 128 + 3 * 128;
  const double attention = 2.0 * 128 * 128 + 2.0 * 128 * 32 + 2 * 16;
  EXPECT_EQ(total_parameters(spec),
            1000.0 * 128 + 128 + 4 * (3.0 * 128 * 256 + 2 * 128) + 3 * convolution + attention);
  // Two earlier values of each channel.
  EXPECT_EQ(state_bytes_per_rank(spec, {}).value(), 3.0 * 2 * 128 * 2);
  EXPECT_EQ(kv_bytes_per_token_per_rank(spec, {}).value(), 2.0 * 2 * 16 * 2);
}

TEST(Lfm2, TheWidthIsAdjustedByTheFilesRule) {
  const auto width = [](const std::string& more) {
    return std::get<DenseFfn>(accepted(with(kConv + more, of_type("lfm2"))).layers[0].ffn).width;
  };
  EXPECT_EQ(width(R"(, "block_auto_adjust_ff_dim": false)"), 96);
  EXPECT_EQ(width(R"(, "block_multiple_of": 8)"), 64);
  EXPECT_EQ(width(R"(, "block_multiple_of": 8, "block_ffn_dim_multiplier": 1.5)"), 96);
  EXPECT_EQ(width(R"(, "block_multiple_of": 8, "block_ff_dim": 192)"), 128);
}

TEST(Lfm2, ExpertsFollowTheFirstDenseLayers) {
  const ModelSpec spec = accepted(with(
      R"("conv_L_cache": 3, "full_attn_idxs": [1], "num_experts": 8, "num_experts_per_tok": 2,
         "moe_intermediate_size": 32, "num_dense_layers": 1)",
      of_type("lfm2_moe")));
  EXPECT_EQ(order(spec), "d1 m1 m2");
  EXPECT_EQ(std::get<DenseFfn>(spec.layers[0].ffn).width, 96);
  EXPECT_EQ(spec.layers[1].attention.heads, 8);
  EXPECT_THAT(problems(of_type("lfm2")), HasSubstr("conv_L_cache: is missing"));
}

}  // namespace
}  // namespace ridgeline::model
