#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "openai/text/pieces.hpp"
#include "openai/text/tokenizer.hpp"

namespace ridgeline::openai {

/// The text of an answer, token by token. Either words that follow from a seed, of which nothing is
/// stored, or pieces that were made beforehand.
class AnswerText {
 public:
  AnswerText() = default;
  /// Word i is drawn from (seed, request, i). `tokenizer`, here and below: that of a file, which
  /// outlives it; null: tokens are pieces (text::Pieces).
  static AnswerText of_words(std::uint64_t seed,
                             std::uint64_t request,
                             const text::Tokenizer* tokenizer = nullptr);
  /// These pieces, over and over where more are asked for.
  static AnswerText of_pieces(std::vector<std::string> pieces,
                              const text::Tokenizer* tokenizer = nullptr);
  /// The tokens of a text. Of a character that is several tokens, the last one has the text.
  static AnswerText of_text(std::string_view text, const text::Tokenizer* tokenizer = nullptr);

  /// Adds the text of token i.
  void append(std::int64_t i, std::string& out) const;
  /// The text of the first `tokens` tokens.
  [[nodiscard]] std::string text(std::int64_t tokens) const;
  /// How many tokens the pieces are; nothing for words.
  [[nodiscard]] std::optional<std::int64_t> length() const;
  /// A number for token i, as a tokenizer would give it.
  [[nodiscard]] std::int64_t token_id(std::int64_t i) const;
  [[nodiscard]] const text::Tokenizer* tokenizer() const { return tokenizer_; }

 private:
  std::uint64_t seed_ = 0;
  std::uint64_t request_ = 0;
  std::shared_ptr<const std::vector<std::string>> pieces_;
  std::shared_ptr<const std::vector<std::int64_t>> ids_;  ///< Ids of pieces_, if a file has them.
  const text::Tokenizer* tokenizer_ = nullptr;
};

/// Calls `take(piece, id)` with each token of a text. Whether some of them were estimated.
template <class Take>
bool each_token(std::string_view text, const text::Tokenizer* tokenizer, Take take);

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

/// The number of a piece of text: in a tokenizer's vocabulary, or in this server's own, where it is
/// 1000 and the word's number for a listed word, a hash from 4096 to 125,999 for anything else.
[[nodiscard]] std::int64_t token_id_of(std::string_view piece,
                                       const text::Tokenizer* tokenizer = nullptr);
/// The text of a token: of this server's own vocabulary that of listed words alone, with the space
/// before it. Empty for others.
[[nodiscard]] std::string word_of(std::int64_t token_id,
                                  const text::Tokenizer* tokenizer = nullptr);

template <class Take>
bool each_token(std::string_view text, const text::Tokenizer* tokenizer, Take take) {
  if (tokenizer != nullptr) {
    std::vector<text::Token> tokens;
    tokenizer->cut(text, tokens);
    for (const text::Token& token : tokens) {
      take(token.text, token.id);
    }
    return false;
  }
  text::Pieces pieces(text);
  while (const auto piece = pieces.next()) {
    take(*piece, token_id_of(*piece));
  }
  return pieces.is_estimate();
}

}  // namespace ridgeline::openai
