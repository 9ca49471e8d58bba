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

TEST(MimoV2, WindowedLayersHaveSizesOfTheirOwn) {
  const ModelSpec spec = accepted(
      with(R"("head_dim": 24, "v_head_dim": 16, "sliding_window": 64, "swa_num_key_value_heads": 4,
              "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
              "hybrid_layer_pattern": [0, 1, 1, 0], "moe_layer_freq": [0, 1, 1, 1])",
           of_type("mimo_v2_flash")));
  EXPECT_EQ(order(spec), "d1 m2 m1");
  EXPECT_EQ(spec.layers[0].attention.kv_heads, 2);
  EXPECT_EQ(spec.layers[0].attention.values(), 16);
  EXPECT_EQ(spec.layers[1].attention.kv_heads, 4);
  EXPECT_EQ(spec.layers[1].attention.window, 64);
  EXPECT_THAT(problems(of_type("mimo_v2_flash")), HasSubstr("sliding_window: is missing"));
}

}  // namespace
}  // namespace ridgeline::model
