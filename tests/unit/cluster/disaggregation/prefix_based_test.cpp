#include <gtest/gtest.h>

#include "cluster/disaggregation/decider.hpp"
#include "cluster/disaggregation/deciders/deciders.hpp"
#include "core/units.hpp"

namespace ridgeline::disaggregation {
namespace {

using core::Tokens;

TEST(PrefixBasedDecider, NeedsALongPromptThatIsNotCached) {
  const auto decider =
      make_prefix_based({.non_cached_tokens = Tokens(100), .min_prompt_tokens = Tokens(500)});
  const auto apart = [&](int tokens, int cached) {
    return decider->disaggregates({.tokens = Tokens(tokens), .cached_on_decode = Tokens(cached)});
  };
  EXPECT_TRUE(apart(512, 256));
  EXPECT_TRUE(apart(500, 400));
  EXPECT_FALSE(apart(499, 0));
  EXPECT_FALSE(apart(512, 448));
}

TEST(PrefixBasedDecider, AThresholdOfZeroMeansNever) {
  EXPECT_FALSE(make_prefix_based({})->disaggregates({.tokens = Tokens(512)}));
}

}  // namespace
}  // namespace ridgeline::disaggregation
