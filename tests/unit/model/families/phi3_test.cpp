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

TEST(Phi3, AWindowAsLongAsThePositionsIsNone) {
  EXPECT_EQ(attention(with("\"sliding_window\": 2048", of_type("phi3"))).window, 0);
  EXPECT_EQ(attention(with("\"sliding_window\": 2047", of_type("phi3"))).window, 2047);
  EXPECT_EQ(attention(of_type("phi3")).window, 0);
  EXPECT_THAT(problems(with("\"sliding_window\": 0", of_type("phi3"))),
              HasSubstr("sliding_window"));
}

}  // namespace
}  // namespace ridgeline::model
