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

const std::string kGlm4 =
    with(R"("n_routed_experts": 8, "num_experts_per_tok": 2, "n_shared_experts": 1,
            "moe_intermediate_size": 32, "first_k_dense_replace": 2, "attention_bias": true)",
         of_type("glm4_moe"));

TEST(Glm4Moe, HasABiasOnQueriesKeysAndValuesOnly) {
  const ModelSpec spec = accepted(kGlm4);
  EXPECT_EQ(order(spec), "d2 m2");
  EXPECT_TRUE(spec.layers[0].attention.qkv_bias);
  EXPECT_FALSE(spec.layers[0].attention.output_bias);
  EXPECT_FALSE(spec.layers[0].attention.qk_norm);
  EXPECT_THAT(problems(with("\"sliding_window\": 16", kGlm4)), HasSubstr("sliding_window 16"));
}

}  // namespace
}  // namespace ridgeline::model
