#include "routing/disaggregation.hpp"

#include <gtest/gtest.h>

namespace ridgeline::routing {
namespace {

TEST(Disaggregation, DependsOnWhatIsLeftToCompute) {
  const PrefixDecider decider{.non_cached_tokens = 100, .prompt_tokens = 500};
  const PrefixMatch half{.matched = 4, .total = 8, .block_tokens = 64};
  EXPECT_TRUE(decider.disaggregates(512, half));
  EXPECT_FALSE(decider.disaggregates(499, {}));
  EXPECT_FALSE(decider.disaggregates(512, {.matched = 7, .total = 8, .block_tokens = 64}));
  EXPECT_FALSE((PrefixDecider{.non_cached_tokens = 0}).disaggregates(512, {}));
  EXPECT_TRUE(exceeds_prefix_threshold(117, 100, 16));
  EXPECT_FALSE(exceeds_prefix_threshold(116, 100, 16));
  EXPECT_TRUE((PromptBound{}).stays(2000, 700));
  EXPECT_FALSE((PromptBound{}).stays(2000, 600));   // 0.7 of it.
  EXPECT_FALSE((PromptBound{}).stays(5000, 2952));  // 2048 tokens.
}

}  // namespace
}  // namespace ridgeline::routing
