#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::openai {

/// The text of an answer, token by token. Either words that follow from a seed, of which nothing is
/// stored, or pieces that were made beforehand.
class AnswerText {
 public:
  AnswerText() = default;
  /// Word i is drawn from (seed, request, i).
  static AnswerText of_words(std::uint64_t seed, std::uint64_t request);
  /// These pieces, over and over where more are asked for.
  static AnswerText of_pieces(std::vector<std::string> pieces);
  /// The pieces of a text (text::Pieces).
  static AnswerText of_text(std::string_view text);

  /// Adds the text of token i.
  void append(std::int64_t i, std::string& out) const;
  /// The text of the first `tokens` tokens.
  [[nodiscard]] std::string text(std::int64_t tokens) const;
  /// How many tokens the pieces are; nothing for words.
  [[nodiscard]] std::optional<std::int64_t> length() const;
  /// A number for token i, as a tokenizer would give it.
  [[nodiscard]] std::int64_t token_id(std::int64_t i) const;

 private:
  std::uint64_t seed_ = 0;
  std::uint64_t request_ = 0;
  std::shared_ptr<const std::vector<std::string>> pieces_;
};

/// Where the first of the stop strings ends in an answer: the number of tokens up to the one that
/// completes it, the text up to there, and which it was. Nothing where none occurs in the first
/// `limit` tokens.
struct Stopped {
  std::int64_t tokens = 0;
  std::string text;  ///< Without the stop string, unless it is to be included.
  std::string stop;
};
[[nodiscard]] std::optional<Stopped> find_stop(const AnswerText& answer,
                                               std::int64_t limit,
                                               std::int64_t min_tokens,
                                               const std::vector<std::string>& stops,
                                               bool include);

/// The number of a piece of text in this server's vocabulary: 1000 and the word's number for a
/// listed word, a hash from 4096 to 125,999 for anything else.
[[nodiscard]] std::int64_t token_id_of(std::string_view piece);
/// The listed word of an id, with the space before it; empty for others.
[[nodiscard]] std::string word_of(std::int64_t token_id);

}  // namespace ridgeline::openai
