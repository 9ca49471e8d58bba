#include <gtest/gtest.h>

#include "cluster/disaggregation/decider.hpp"
#include "cluster/disaggregation/deciders/deciders.hpp"
#include "core/units.hpp"

namespace ridgeline::disaggregation {
namespace {

using core::Tokens;

TEST(FixedDeciders, LookAtNothing) {
  EXPECT_FALSE(make_never({})->disaggregates({.tokens = Tokens(100'000)}));
  EXPECT_TRUE(make_always({})->disaggregates({.tokens = Tokens(1), .cached_on_decode = Tokens(1)}));
}

}  // namespace
}  // namespace ridgeline::disaggregation
