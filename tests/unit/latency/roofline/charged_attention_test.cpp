#include "latency/roofline/charged_attention.hpp"

#include <gtest/gtest.h>

#include "unit/latency/roofline/roofline_fixtures.hpp"

namespace ridgeline::latency::roofline {
namespace {

using fixtures::BuiltModel;
using fixtures::llama_31_8b;
using fixtures::request_step;
using fixtures::setting;

// Four decodes of Llama-3.1-8B, 4 * 32 heads * 128 * 32 layers FLOPs a token: study H28's row.
TEST(ChargedAttention, CountsEverySequenceAsTheLongestWhereTheModelDoes) {
  const auto step = request_step({4096, 64, 64, 64}, {});
  const ModelOptions constant{.settings = {setting("lookup", "constant"),
                                           setting("mfuPrefill", 0.5),
                                           setting("mfuDecode", 0.5)}};
  const BuiltModel longest("v2-h29", llama_31_8b(), 1, constant);
  const auto charged = charged_attention(*longest, step.batch());
  ASSERT_TRUE(charged);
  EXPECT_EQ(charged->flops, 8589934592.0);
  EXPECT_EQ(charged->own_flops, 2248146944.0);
  EXPECT_EQ(charged->shortest_ratio, 64.0);
  const BuiltModel own("v2-final", llama_31_8b(), 1, constant);
  const auto kept = charged_attention(*own, step.batch());
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->flops, kept->own_flops);
  EXPECT_EQ(kept->shortest_ratio, 1.0);
}

TEST(ChargedAttention, IsOfV2AndOfDecodesAlone) {
  const BuiltModel older("v1", llama_31_8b(), 1, {});
  EXPECT_FALSE(charged_attention(*older, request_step({64}, {}).batch()));
  const BuiltModel longest(
      "v2-h29",
      llama_31_8b(),
      1,
      {.settings = {
           setting("lookup", "constant"), setting("mfuPrefill", 0.5), setting("mfuDecode", 0.5)}});
  EXPECT_FALSE(charged_attention(*longest, request_step({}, {{0, 64}}).batch()));
}

}  // namespace
}  // namespace ridgeline::latency::roofline
