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

const std::string kGptOss =
    with(R"("num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": 16,
            "layer_types": ["sliding_attention", "full_attention", "sliding_attention",
                            "full_attention"])",
         of_type("gpt_oss"));

TEST(GptOss, EverySecondLayerSlides) {
  const ModelSpec spec = accepted(kGptOss);
  EXPECT_EQ(order(spec), "m1 m1 m1 m1");
  EXPECT_EQ(spec.layers[0].attention.window, 16);
  EXPECT_EQ(spec.layers[1].attention.window, 0);
  EXPECT_TRUE(spec.layers[0].attention.sinks);
  EXPECT_TRUE(std::get<MoeFfn>(spec.layers[0].ffn).bias);
  EXPECT_THAT(
      problems(with("\"layer_types\": [\"circular\", \"a\", \"b\", \"c\"]", of_type("gpt_oss"))),
      HasSubstr("a layer of type \"circular\" is not modelled yet"));
}

}  // namespace
}  // namespace ridgeline::model
