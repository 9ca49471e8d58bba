#include "openai/text/words.hpp"

#include <cstddef>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

namespace ridgeline::text {
namespace {

TEST(Words, AreDifferentAndFoundByTheirNumbers) {
  std::set<std::string_view> all;
  for (std::size_t i = 0; i < kNumWords; ++i) {
    all.insert(word(i));
    EXPECT_EQ(word_number(word(i)), i);
  }
  EXPECT_EQ(all.size(), kNumWords);
  EXPECT_EQ(word(kNumWords + 3), word(3));
}

TEST(Words, OthersHaveNoNumber) {
  EXPECT_FALSE(word_number("zyzzyva").has_value());
  EXPECT_FALSE(word_number("").has_value());
  EXPECT_FALSE(word_number("The").has_value());
}

}  // namespace
}  // namespace ridgeline::text
