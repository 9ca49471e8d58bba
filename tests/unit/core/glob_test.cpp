#include "core/glob.hpp"

#include <gtest/gtest.h>

namespace ridgeline::core {
namespace {

TEST(Glob, StarIsAnyTextAndQuestionMarkOneCharacter) {
  EXPECT_TRUE(matches_glob("VLLM_USE_V1", "VLLM_*"));
  EXPECT_TRUE(matches_glob("abcbd", "a*b?"));
  EXPECT_TRUE(matches_glob("", "*"));
  EXPECT_FALSE(matches_glob("abc", "ab"));
  EXPECT_FALSE(matches_glob("abc", "?"));
}

}  // namespace
}  // namespace ridgeline::core
