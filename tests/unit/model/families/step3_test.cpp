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

TEST(Step3, FirstLayersAreDenseAndMostSlide) {
  const ModelSpec spec =
      accepted(with(R"("sliding_window": 64, "num_experts": 8, "num_experts_per_tok": 2,
              "moe_intermediate_size": 32, "share_expert_dim": 32, "first_k_dense_replace": 1,
              "layer_types": ["full_attention", "sliding_attention", "sliding_attention",
                              "full_attention"])",
                    of_type("step3p7")));
  EXPECT_EQ(order(spec), "d1 m2 m1");
  EXPECT_EQ(spec.layers[1].attention.window, 64);
  EXPECT_EQ(std::get<MoeFfn>(spec.layers[1].ffn).shared_width, 32);
  EXPECT_THAT(problems(of_type("step3p7")), HasSubstr("num_experts"));
}

}  // namespace
}  // namespace ridgeline::model
