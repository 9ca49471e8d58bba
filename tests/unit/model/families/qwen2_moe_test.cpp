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

const std::string kQwen2Moe =
    with(R"("num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
            "shared_expert_intermediate_size": 64)",
         of_type("qwen2_moe"));

TEST(Qwen2Moe, HasAGatedSharedExpertAndBiases) {
  const ModelSpec spec = accepted(kQwen2Moe);
  EXPECT_TRUE(spec.layers[0].attention.qkv_bias);
  EXPECT_TRUE(std::get<MoeFfn>(spec.layers[0].ffn).shared_gate);
  EXPECT_EQ(std::get<MoeFfn>(spec.layers[0].ffn).shared_width, 64);
  EXPECT_THAT(problems(with("\"decoder_sparse_step\": 2", kQwen2Moe)),
              HasSubstr("decoder_sparse_step"));
}

}  // namespace
}  // namespace ridgeline::model
