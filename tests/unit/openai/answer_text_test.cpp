#include "openai/answer_text.hpp"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "text/pieces.hpp"

namespace ridgeline::openai {
namespace {

TEST(AnswerText, OfWordsHasAsManyTokensAsItSays) {
  const AnswerText answer = AnswerText::of_words(1, 2);
  const std::string text = answer.text(500);
  EXPECT_EQ(text::count_pieces(text).pieces, 500);
  EXPECT_FALSE(text::count_pieces(text).is_estimate);
  EXPECT_EQ(answer.text(500), text);
  EXPECT_NE(AnswerText::of_words(1, 3).text(20), answer.text(20));
  EXPECT_NE(AnswerText::of_words(2, 2).text(20), answer.text(20));
  EXPECT_FALSE(answer.length().has_value());
}

TEST(AnswerText, OfATextIsTheText) {
  const AnswerText answer = AnswerText::of_text("{\"a\": 1}");
  EXPECT_EQ(answer.text(*answer.length()), "{\"a\": 1}");
}

TEST(FindStop, FindsTheFirstOneAcrossTokens) {
  const AnswerText answer = AnswerText::of_pieces({"ab", "cd", "ef", "gh"});
  const auto stopped = find_stop(answer, 4, 0, {"zz", "de"}, false);
  ASSERT_TRUE(stopped.has_value());
  EXPECT_EQ(stopped->tokens, 3);
  EXPECT_EQ(stopped->text, "abc");
  EXPECT_EQ(stopped->stop, "de");
  EXPECT_EQ(find_stop(answer, 4, 0, {"de"}, true)->text, "abcde");
  EXPECT_FALSE(find_stop(answer, 2, 0, {"de"}, false).has_value());
}

TEST(FindStop, LooksAtNothingBeforeMinTokens) {
  const AnswerText answer = AnswerText::of_pieces({"a", "b", "a", "b"});
  EXPECT_EQ(find_stop(answer, 4, 0, {"b"}, false)->tokens, 2);
  EXPECT_FALSE(find_stop(answer, 4, 5, {"b"}, false).has_value());
}

TEST(TokenIds, OfWordsAreFoundAgain) {
  EXPECT_EQ(token_id_of("the"), token_id_of(" the"));
  EXPECT_EQ(word_of(token_id_of("the")), " the");
  EXPECT_GE(token_id_of("zyzzyva"), 4096);
  EXPECT_LT(token_id_of("zyzzyva"), 126'000);
  EXPECT_EQ(word_of(5), "");
}

}  // namespace
}  // namespace ridgeline::openai
