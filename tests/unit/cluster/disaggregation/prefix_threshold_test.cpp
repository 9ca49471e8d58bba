#include <gtest/gtest.h>

#include "cluster/disaggregation/decider.hpp"
#include "cluster/disaggregation/deciders/deciders.hpp"
#include "core/units.hpp"

namespace ridgeline::disaggregation {
namespace {

using core::Tokens;

TEST(PrefixThresholdDecider, TheThresholdIsExceeded) {
  const auto decider = make_prefix_threshold({.non_cached_tokens = Tokens(16)});
  EXPECT_TRUE(decider->disaggregates({.tokens = Tokens(117), .cached_on_decode = Tokens(100)}));
  EXPECT_FALSE(decider->disaggregates({.tokens = Tokens(116), .cached_on_decode = Tokens(100)}));
}

}  // namespace
}  // namespace ridgeline::disaggregation
