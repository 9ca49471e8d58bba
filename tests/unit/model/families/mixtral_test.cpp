#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_spec.hpp"
#include "unit/model/config_text.hpp"

namespace ridgeline::model {
namespace {

using testing::HasSubstr;

const std::string kMixtral =
    with(R"("num_local_experts": 8, "num_experts_per_tok": 2)", of_type("mixtral"));

TEST(Mixtral, HasExpertsInEveryLayer) {
  const ModelSpec spec = accepted(kMixtral);
  EXPECT_EQ(order(spec), "m4");
  EXPECT_EQ(std::get<MoeFfn>(spec.layers.front().ffn),
            (MoeFfn{.experts = 8, .experts_per_token = 2, .expert_width = 96}));
}

TEST(Mixtral, HasNoWindowUnlessItSaysOne) {
  EXPECT_EQ(problems(with("\"sliding_window\": null", kMixtral)), "accepted");
  EXPECT_THAT(problems(with("\"sliding_window\": 512", kMixtral)), HasSubstr("sliding_window 512"));
}

}  // namespace
}  // namespace ridgeline::model
