#include "openai/answer_text.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.hpp"
#include "openai/text/pieces.hpp"

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

/// Looks at every token after the other, as an engine does.
std::optional<Stopped> stop_token_by_token(const AnswerText& answer,
                                           std::int64_t limit,
                                           std::int64_t min_tokens,
                                           const std::vector<std::string>& stops) {
  std::size_t longest = 0;
  for (const std::string& stop : stops) {
    longest = std::max(longest, stop.size());
  }
  std::string text;
  for (std::int64_t i = 0; i < limit; ++i) {
    const std::size_t before = text.size();
    answer.append(i, text);
    if (i + 1 < min_tokens) {
      continue;
    }
    const std::string* first = nullptr;
    std::size_t at = std::string::npos;
    for (const std::string& stop : stops) {
      const std::size_t found = text.find(stop, before > longest ? before - longest : 0);
      if (found < at) {
        at = found;
        first = &stop;
      }
    }
    if (first != nullptr) {
      return Stopped{.tokens = i + 1, .text = text.substr(0, at), .stop = *first};
    }
  }
  return std::nullopt;
}

TEST(FindStop, IsThatOfEveryTokenAfterTheOther) {
  core::RngStream draws(1, 0, "stops", 0);
  const auto word = [&](double longest) {
    std::string text;
    for (auto size = static_cast<int>(1.0 + draws.uniform() * longest); size > 0; --size) {
      text += draws.uniform() < 0.6 ? 'a' : 'b';
    }
    return text;
  };
  for (int round = 0; round < 2'000; ++round) {
    std::vector<std::string> pieces(static_cast<std::size_t>(1.0 + draws.uniform() * 12.0));
    std::ranges::generate(pieces, [&] { return word(3.0); });
    std::vector<std::string> stops(static_cast<std::size_t>(1.0 + draws.uniform() * 3.0));
    std::ranges::generate(stops, [&] { return word(6.0); });
    const AnswerText answer = AnswerText::of_pieces(std::move(pieces));
    const auto limit = static_cast<std::int64_t>(draws.uniform() * 20.0);
    const auto least = static_cast<std::int64_t>(draws.uniform() * 6.0);
    const auto expected = stop_token_by_token(answer, limit, least, stops);
    const auto found = find_stop(answer, limit, least, stops, false);
    ASSERT_EQ(found.has_value(), expected.has_value());
    if (found) {
      EXPECT_EQ(found->tokens, expected->tokens);
      EXPECT_EQ(found->text, expected->text);
      EXPECT_EQ(found->stop, expected->stop);
    }
  }
}

TEST(FindStop, TakesTimeInProportionToTheAnswer) {
  // Nearly everywhere nearly the whole stop: 200,000 places times 100,000 characters.
  const AnswerText answer = AnswerText::of_pieces({"a"});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(find_stop(answer, 200'000, 0, {std::string(100'000, 'a') + "b"}, false));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
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
