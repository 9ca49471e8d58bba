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

TEST(Gemma2, LayersAlternateFromASlidingOne) {
  const ModelSpec spec = accepted(with("\"sliding_window\": 64", of_type("gemma2")));
  ASSERT_EQ(spec.layers.size(), 4U);
  EXPECT_EQ(spec.layers[0].attention.window, 64);
  EXPECT_EQ(spec.layers[1].attention.window, 0);
  EXPECT_EQ(spec.layers[0].norms, 4);
  EXPECT_TRUE(spec.tied_embeddings);
  EXPECT_THAT(problems(of_type("gemma2")), HasSubstr("sliding_window: is missing"));
}

TEST(Gemma2, TheThirdGenerationHasAPattern) {
  const ModelSpec spec = accepted(
      with("\"sliding_window\": 64, \"sliding_window_pattern\": 3", of_type("gemma3_text")));
  ASSERT_EQ(spec.layers.size(), 3U);  // two that slide, one that does not, one that does
  EXPECT_EQ(spec.layers[0].count, 2);
  EXPECT_EQ(spec.layers[1].attention.window, 0);
  EXPECT_TRUE(spec.layers[0].attention.qk_norm);
}

}  // namespace
}  // namespace ridgeline::model
