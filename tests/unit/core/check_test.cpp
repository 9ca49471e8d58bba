#include "core/check.hpp"

#include <gtest/gtest.h>

namespace ridgeline::core {
namespace {

TEST(Check, SaysWhatBrokeAndWhere) {
  const int blocks = 3;
  EXPECT_DEATH(RIDGELINE_CHECK(blocks == 4, "a block was lost"),
               "internal error: blocks == 4 at .*check_test.cpp:[0-9]+: a block was lost");
}

TEST(Check, CostsNothingWhenItHolds) {
  int evaluations = 0;
  RIDGELINE_CHECK(++evaluations == 1, "evaluated once");
  EXPECT_EQ(evaluations, 1);
}

}  // namespace
}  // namespace ridgeline::core
