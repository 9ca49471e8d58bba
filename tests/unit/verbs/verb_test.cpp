#include "verbs/verb.hpp"

#include <gtest/gtest.h>

namespace ridgeline::verbs {
namespace {

TEST(Fitted, LinesAreBrokenBesideTheirFirstColumn) {
  EXPECT_EQ(fitted("short\n\nalso short", 40), "short\n\nalso short\n");
  // 44 columns in 40: the second column begins after "  run  ".
  EXPECT_EQ(fitted("  run  one two three four five six seven eig", 40),
            "  run  one two three four five six seven\n"
            "       eig\n");
  EXPECT_EQ(fitted("a line of thirty-nine columns, no more.", 10),
            "a line of thirty-nine columns, no more.\n")
      << "never narrower than 40";
}

}  // namespace
}  // namespace ridgeline::verbs
