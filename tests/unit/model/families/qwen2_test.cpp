#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_spec.hpp"
#include "unit/model/config_text.hpp"

namespace ridgeline::model {
namespace {

using testing::HasSubstr;

TEST(Qwen2, HasABiasOnQueryKeyAndValueAlone) {
  const AttentionSpec qwen2 = attention(of_type("qwen2"));
  EXPECT_TRUE(qwen2.qkv_bias);
  EXPECT_FALSE(qwen2.output_bias);
  EXPECT_FALSE(qwen2.qk_norm);
}

TEST(Qwen2, AWindowCountsOnlyWhereItIsSwitchedOn) {
  EXPECT_EQ(problems(with("\"sliding_window\": 512", of_type("qwen2"))), "accepted");
  EXPECT_THAT(
      problems(with(R"("sliding_window": 512, "use_sliding_window": true)", of_type("qwen2"))),
      HasSubstr("sliding-window attention (sliding_window 512) is not modelled yet"));
  EXPECT_EQ(
      problems(with(R"("sliding_window": null, "use_sliding_window": true)", of_type("qwen2"))),
      "accepted");
}

}  // namespace
}  // namespace ridgeline::model
