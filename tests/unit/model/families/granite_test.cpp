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

TEST(Granite, HasLlamasLayers) {
  EXPECT_EQ(accepted(of_type("granite")).layers, accepted(of_type("llama")).layers);
  EXPECT_THAT(problems(with("\"mlp_bias\": true", of_type("granite"))), HasSubstr("mlp_bias"));
}

TEST(Granite, MayHaveExperts) {
  EXPECT_EQ(order(accepted(with("\"num_local_experts\": 8, \"num_experts_per_tok\": 2",
                                of_type("granitemoe")))),
            "m4");
}

}  // namespace
}  // namespace ridgeline::model
