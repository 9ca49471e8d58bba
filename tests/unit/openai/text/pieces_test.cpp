#include "openai/text/pieces.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "openai/text/words.hpp"

namespace ridgeline::text {
namespace {

using testing::ElementsAre;

std::vector<std::string> cut(std::string_view text) {
  Pieces pieces(text);
  std::vector<std::string> all;
  while (const auto piece = pieces.next()) {
    all.emplace_back(*piece);
  }
  return all;
}

TEST(Pieces, OfListedWordsAreTheWords) {
  EXPECT_THAT(cut("the and for"), ElementsAre("the", " and", " for"));
  EXPECT_FALSE(count_pieces("the and for").is_estimate);
}

TEST(Pieces, OfManyWordsAreAsManyTokens) {
  std::string text;
  for (std::size_t i = 0; i < 4000; ++i) {
    text += (i > 0 ? " " : "") + std::string(word(i * 7));
  }
  EXPECT_EQ(count_pieces(text).pieces, 4000);
}

TEST(Pieces, OfLongWordsAreOneForSevenLettersAndOneForSixMore) {
  EXPECT_EQ(count_pieces("abcdefg").pieces, 1);
  EXPECT_EQ(count_pieces("abcdefghijklm").pieces, 2);
  EXPECT_EQ(count_pieces("abcdefghijklmnopqrs").pieces, 3);
  EXPECT_TRUE(count_pieces("abcdefg").is_estimate);
}

TEST(Pieces, OfDigitsComeByThrees) {
  EXPECT_EQ(count_pieces("1").pieces, 1);
  EXPECT_EQ(count_pieces("1234567").pieces, 3);
}

TEST(Pieces, OfPunctuationAndBreaks) {
  EXPECT_THAT(cut("(a)\n\n\nb"), ElementsAre("(", "a", ")", "\n\n\n", "b"));
  EXPECT_THAT(cut("a    b"), ElementsAre("a", "   ", " b"));
  EXPECT_THAT(cut("a "), ElementsAre("a", " "));
}

TEST(Pieces, CutNoCharacterInTwo) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += "\xE4\xB8\xAD";  // An ideograph of three bytes.
  }
  std::string joined;
  for (const std::string& piece : cut(text)) {
    EXPECT_EQ(piece.size() % 3, 0U);
    joined += piece;
  }
  EXPECT_EQ(joined, text);
  EXPECT_EQ(count_pieces(text).pieces, 62);
}

TEST(Pieces, TakeBytesThatAreNoText) {
  const std::string broken = "\xFF\xC3 a\xE4";
  std::string joined;
  for (const std::string& piece : cut(broken)) {
    joined += piece;
  }
  EXPECT_EQ(joined, broken);
}

}  // namespace
}  // namespace ridgeline::text
