#include "text/words.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

namespace ridgeline::text {
namespace {

TEST(Words, AreDifferentShortAndOfLowerCaseLetters) {
  std::set<std::string_view> different;
  for (std::size_t i = 0; i < kNumWords; ++i) {
    const std::string_view one = word(i);
    EXPECT_GE(one.size(), 3U) << one;
    EXPECT_LE(one.size(), 9U) << one;
    EXPECT_TRUE(std::ranges::all_of(one, [](char c) { return c >= 'a' && c <= 'z'; })) << one;
    EXPECT_EQ(word(i + kNumWords), one);
    EXPECT_EQ(word_number(one), i);
    different.insert(one);
  }
  EXPECT_EQ(different.size(), kNumWords);
  EXPECT_FALSE(word_number("zyzzyva").has_value());
}

}  // namespace
}  // namespace ridgeline::text
