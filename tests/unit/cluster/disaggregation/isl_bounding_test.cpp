#include <gtest/gtest.h>

#include "cluster/disaggregation/decider.hpp"
#include "cluster/disaggregation/deciders/deciders.hpp"
#include "core/units.hpp"

namespace ridgeline::disaggregation {
namespace {

using core::Tokens;

TEST(IslBoundingDecider, APromptStaysBelowBothBounds) {
  const auto decider =
      make_isl_bounding({.non_cached_tokens = Tokens(2048), .uncached_share = 0.7});
  const auto apart = [&](int tokens, int cached) {
    return decider->disaggregates({.tokens = Tokens(tokens), .cached_on_decode = Tokens(cached)});
  };
  EXPECT_FALSE(apart(2000, 700));
  EXPECT_TRUE(apart(2000, 600));   // 0.7 of it.
  EXPECT_TRUE(apart(5000, 2952));  // 2048 tokens.
}

}  // namespace
}  // namespace ridgeline::disaggregation
