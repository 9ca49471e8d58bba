#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_spec.hpp"
#include "unit/model/config_text.hpp"

namespace ridgeline::model {
namespace {

using testing::HasSubstr;

TEST(Llama, ReadsPlainly) {
  const ModelSpec spec = accepted(of_type("llama"));
  EXPECT_EQ(spec.family, "llama");
  EXPECT_EQ(spec.layers,
            (std::vector<LayerGroup>{{.count = 4,
                                      .attention = {.heads = 8, .kv_heads = 2, .head_dim = 16},
                                      .ffn = DenseFfn{.width = 96}}}));
}

TEST(Llama, OneKeyAddsABiasToAllFourProjections) {
  const AttentionSpec biased = attention(with("\"attention_bias\": true", of_type("llama")));
  EXPECT_TRUE(biased.qkv_bias);
  EXPECT_TRUE(biased.output_bias);
}

TEST(Llama, ABiasInTheFeedForwardNetworkIsRefused) {
  EXPECT_THAT(problems(with("\"mlp_bias\": true", of_type("llama"))),
              HasSubstr("a bias in the feed-forward network is not modelled yet"));
  EXPECT_EQ(problems(with("\"mlp_bias\": false", of_type("llama"))), "accepted");
}

}  // namespace
}  // namespace ridgeline::model
