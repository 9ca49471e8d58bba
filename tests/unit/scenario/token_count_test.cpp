#include "scenario/token_count.hpp"

#include <optional>

#include <gtest/gtest.h>

namespace ridgeline::scenario {
namespace {

/// As vLLM's own tests of human_readable_int have them.
TEST(TokenCount, SmallLettersAreThousandsAndLargeOnesPowersOfTwo) {
  EXPECT_EQ(parse_token_count("1k"), 1000);
  EXPECT_EQ(parse_token_count("1K"), 1024);
  EXPECT_EQ(parse_token_count("16k"), 16'000);
  EXPECT_EQ(parse_token_count("2m"), 2'000'000);
  EXPECT_EQ(parse_token_count("2M"), 2 * 1024 * 1024);
  EXPECT_EQ(parse_token_count("1G"), 1024 * 1024 * 1024);
  EXPECT_EQ(parse_token_count("25.6k"), 25'600);
}

TEST(TokenCount, NothingElseIsOne) {
  for (const char* text :
       {"", "k", "16", "1.5K", "1kk", "-1k", "1 k", ".k", "1e3k", "16kb", "9999t"}) {
    EXPECT_EQ(parse_token_count(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace ridgeline::scenario
