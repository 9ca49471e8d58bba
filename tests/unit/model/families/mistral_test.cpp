#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_spec.hpp"
#include "unit/model/config_text.hpp"

namespace ridgeline::model {
namespace {

using testing::HasSubstr;

TEST(Mistral, IsDense) {
  const ModelSpec spec = accepted(of_type("mistral"));
  EXPECT_EQ(order(spec), "d4");
  EXPECT_FALSE(spec.layers.front().attention.qkv_bias);
}

TEST(Mistral, AWindowShorterThanTheLongestSequenceIsRefused) {
  EXPECT_THAT(problems(with("\"sliding_window\": 1024", of_type("mistral"))),
              HasSubstr("sliding-window attention (sliding_window 1024) is not modelled yet"));
  EXPECT_NE(problems(with("\"sliding_window\": 2047", of_type("mistral"))), "accepted");
  EXPECT_EQ(problems(with("\"sliding_window\": 2048", of_type("mistral"))), "accepted");
  EXPECT_EQ(problems(with("\"sliding_window\": null", of_type("mistral"))), "accepted");
}

TEST(Mistral, AnAbsentWindowIs4096AsInTransformers) {
  EXPECT_EQ(problems(of_type("mistral")), "accepted");  // no shorter than 2048 positions
  EXPECT_THAT(problems(R"({"model_type": "mistral", "hidden_size": 128, "num_hidden_layers": 4,
                           "num_attention_heads": 8, "intermediate_size": 96, "vocab_size": 1000,
                           "max_position_embeddings": 32768})"),
              HasSubstr("sliding_window 4096, the family's default"));
}

}  // namespace
}  // namespace ridgeline::model
