#include <gtest/gtest.h>

#include "core/units.hpp"
#include "disaggregation/decider.hpp"
#include "disaggregation/deciders/deciders.hpp"

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
