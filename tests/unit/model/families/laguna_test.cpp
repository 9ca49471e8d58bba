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

const std::string kLaguna = with(R"("head_dim": 16, "num_experts": 8, "num_experts_per_tok": 2,
            "moe_intermediate_size": 32, "shared_expert_intermediate_size": 48,
            "sliding_window": 64, "layer_types": ["full_attention", "sliding_attention",
                                                  "sliding_attention", "full_attention"])",
                                 of_type("laguna"));

TEST(Laguna, HeadsDifferByLayer) {
  const ModelSpec spec = accepted(
      with(R"("num_attention_heads_per_layer": [8, 12, 12, 8], "gating": "per-head")", kLaguna));
  EXPECT_EQ(order(spec), "d1 m2 m1");
  EXPECT_EQ(spec.layers[0].attention.heads, 8);
  EXPECT_EQ(spec.layers[1].attention.heads, 12);
  EXPECT_EQ(spec.layers[1].attention.window, 64);
  EXPECT_TRUE(spec.layers[1].attention.head_gate);
  EXPECT_EQ(std::get<MoeFfn>(spec.layers[1].ffn).shared_width, 48);
}

TEST(Laguna, TheGateIsPerHeadPerElementOrNone) {
  const auto gate = [](const std::string& value) {
    return total_parameters(accepted(with("\"gating\": " + value, kLaguna)));
  };
  EXPECT_EQ(gate("true"), gate("\"per-head\""));
  EXPECT_EQ(gate("true") - gate("false"), 4.0 * 128 * 8);
  EXPECT_EQ(gate("\"per-element\"") - gate("false"), 4.0 * 128 * 8 * 16);
  EXPECT_THAT(problems(with("\"gating\": \"wide\"", kLaguna)),
              HasSubstr("gating: \"wide\" is not modelled yet"));
}

}  // namespace
}  // namespace ridgeline::model
