#include <string>

#include <gtest/gtest.h>

#include "model/model_spec.hpp"
#include "unit/model/config_text.hpp"

namespace ridgeline::model {
namespace {

TEST(Mistral, IsDense) {
  const ModelSpec spec = accepted(of_type("mistral"));
  EXPECT_EQ(order(spec), "d4");
  EXPECT_FALSE(spec.layers.front().attention.qkv_bias);
}

TEST(Mistral, AWindowCountsWhereItIsShorterThanTheLongestSequence) {
  const auto window = [](const std::string& member) {
    return attention(with(member, of_type("mistral"))).window;
  };
  EXPECT_EQ(window("\"sliding_window\": 1024"), 1024);
  EXPECT_EQ(window("\"sliding_window\": 2047"), 2047);
  EXPECT_EQ(window("\"sliding_window\": 2048"), 0);  // 2048 positions
  EXPECT_EQ(window("\"sliding_window\": null"), 0);
}

TEST(Mistral, AnAbsentWindowIs4096AsInTransformers) {
  EXPECT_EQ(attention(of_type("mistral")).window, 0);  // no shorter than 2048 positions
  EXPECT_EQ(attention(R"({"model_type": "mistral", "hidden_size": 128, "num_hidden_layers": 4,
                           "num_attention_heads": 8, "intermediate_size": 96, "vocab_size": 1000,
                           "max_position_embeddings": 32768})")
                .window,
            4096);
}

TEST(Mistral, TheThirdHasNoWindowWhereItsFileStatesNone) {
  for (const char* type : {"mistral3", "ministral3"}) {
    EXPECT_EQ(attention(R"({"model_type": ")" + std::string(type) +
                        R"(", "hidden_size": 128, "num_hidden_layers": 4,
                           "num_attention_heads": 8, "intermediate_size": 96, "vocab_size": 1000,
                           "max_position_embeddings": 32768})")
                  .window,
              0);
    EXPECT_EQ(attention(with("\"sliding_window\": 1024", of_type(type))).window, 1024);
  }
}

}  // namespace
}  // namespace ridgeline::model
