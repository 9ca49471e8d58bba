#include "deploy/shell_braces.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::deploy::shell {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(ShellBraces, PlainRangesAndListsAreCountedOut) {
  EXPECT_THAT(braced("{0..2}", 64), Optional(ElementsAre("0", "1", "2")));
  EXPECT_THAT(braced("{1..-1}", 64), Optional(ElementsAre("1", "0", "-1")));
  EXPECT_THAT(braced("gpu{a,,b}x", 64), Optional(ElementsAre("gpuax", "gpux", "gpubx")));
  EXPECT_EQ(braced("{1..64}", 64)->size(), 64U);
}

TEST(ShellBraces, OtherBracesHaveNoAnswer) {
  for (const char* raw : {"{1..65}",
                          "{0..6..2}",
                          "{a..d}",
                          "{00..07}",
                          "{0..$N}",
                          "{$A,b}",
                          "{a,{b,c}}",
                          "{a,b}{c,d}",
                          "{\"a\":1,\"b\":2}"}) {
    EXPECT_EQ(braced(raw, 64), std::nullopt) << raw;
  }
}

TEST(ShellBraces, QuotesAndExpansionsAreNoBraces) {
  for (const char* raw : {"'{1..3}'", "\"{a,b}\"", "${A:-{1..3}}", "\\{1..3}", "{}", "{a}", "{a"}) {
    EXPECT_THAT(braced(raw, 64), Optional(ElementsAre(raw)));
  }
}

TEST(ShellBraces, PatternsStandForFiles) {
  EXPECT_TRUE(is_file_pattern("a/*.txt"));
  EXPECT_TRUE(is_file_pattern("x[12]"));
  for (const char* raw : {"'*'", "$*", "$?", "${A[@]}", "\\*", "a.txt"}) {
    EXPECT_FALSE(is_file_pattern(raw)) << raw;
  }
}

}  // namespace
}  // namespace ridgeline::deploy::shell
