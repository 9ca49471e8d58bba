#include "openai/answer_text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "openai/prompt_builder.hpp"
#include "openai/text/tokenizer.hpp"
#include "openai/text/words.hpp"

namespace ridgeline::openai {
namespace {

/// Murmur3's finaliser (A. Appleby).
constexpr std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 33U;
  x *= 0xFF51AFD7ED558CCD;
  x ^= x >> 33U;
  x *= 0xC4CEB9FE1A85EC53;
  return x ^ (x >> 33U);
}

constexpr std::int64_t kFirstWordId = 1000;
constexpr std::uint64_t kFirstHashId = 4096;
constexpr std::uint64_t kHashIds = 126'000 - kFirstHashId;

}  // namespace

AnswerText AnswerText::of_words(std::uint64_t seed,
                                std::uint64_t request,
                                const text::Tokenizer* tokenizer) {
  AnswerText answer;
  answer.tokenizer_ = tokenizer;
  answer.seed_ = mixed(seed + 1);
  answer.request_ = request;
  return answer;
}

AnswerText AnswerText::of_pieces(std::vector<std::string> pieces,
                                 const text::Tokenizer* tokenizer) {
  AnswerText answer;
  answer.tokenizer_ = tokenizer;
  answer.pieces_ = std::make_shared<const std::vector<std::string>>(std::move(pieces));
  return answer;
}

AnswerText AnswerText::of_text(std::string_view text, const text::Tokenizer* tokenizer) {
  std::vector<std::string> pieces;
  std::vector<std::int64_t> ids;
  std::string begun;
  each_token(text, tokenizer, [&](std::string_view piece, std::int64_t id) {
    begun += piece;
    const bool is_whole = core::valid_utf8_prefix(begun) == begun.size();
    pieces.push_back(is_whole ? std::exchange(begun, {}) : std::string());
    ids.push_back(id);
  });
  if (tokenizer == nullptr) {
    return of_pieces(std::move(pieces));
  }
  // A blank that the tokenizer puts before every text is no part of it.
  if (!pieces.empty() && pieces.front().starts_with(' ') && !text.starts_with(' ')) {
    pieces.front().erase(0, 1);
  }
  AnswerText answer = of_pieces(std::move(pieces), tokenizer);
  answer.ids_ = std::make_shared<const std::vector<std::int64_t>>(std::move(ids));
  return answer;
}

void AnswerText::append(std::int64_t i, std::string& out) const {
  if (!pieces_) {
    const std::uint64_t draw = mixed(mixed(seed_ ^ request_) + static_cast<std::uint64_t>(i));
    if (i > 0) {
      out += ' ';
    }
    out += text::word(draw % text::kNumWords);
  } else if (!pieces_->empty()) {
    out += (*pieces_)[static_cast<std::size_t>(i) % pieces_->size()];
  }
}

std::string AnswerText::text(std::int64_t tokens) const {
  std::string all;
  for (std::int64_t i = 0; i < tokens; ++i) {
    append(i, all);
  }
  return all;
}

std::optional<std::int64_t> AnswerText::length() const {
  return pieces_ ? std::optional<std::int64_t>(std::ssize(*pieces_)) : std::nullopt;
}

std::int64_t AnswerText::token_id(std::int64_t i) const {
  if (ids_ && !ids_->empty()) {
    return (*ids_)[static_cast<std::size_t>(i) % ids_->size()];
  }
  std::string piece;
  append(i, piece);
  return token_id_of(piece, tokenizer_);
}

std::optional<Stopped> find_stop(const AnswerText& answer,
                                 std::int64_t limit,
                                 std::int64_t min_tokens,
                                 const std::vector<std::string>& stops,
                                 bool include) {
  if (stops.empty()) {
    return std::nullopt;
  }
  std::size_t longest = 0;
  for (const std::string& stop : stops) {
    longest = std::max(longest, stop.size());
  }
  std::string text;
  std::vector<std::size_t> ends;  // End of each token.
  ends.reserve(static_cast<std::size_t>(std::max<std::int64_t>(limit, 0)));
  for (std::int64_t i = 0; i < limit; ++i) {
    answer.append(i, text);
    ends.push_back(text.size());
  }
  // The first token that is looked at. What ends in it begins at most so far before it.
  const auto begin = static_cast<std::size_t>(std::max<std::int64_t>(min_tokens - 1, 0));
  if (begin >= ends.size()) {
    return std::nullopt;
  }
  const std::size_t before = begin > 0 ? ends[begin - 1] : 0;
  const std::string_view rest =
      std::string_view(text).substr(before > longest ? before - longest : 0);
  std::optional<Stopped> first;
  std::size_t at = 0;
  for (const std::string& stop : stops) {
    // Linear whatever the texts are, which std::string::find is not.
    const void* const found = ::memmem(rest.data(), rest.size(), stop.data(), stop.size());
    if (found == nullptr) {
      continue;
    }
    const auto place = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    const auto token =
        std::max<std::int64_t>(std::ranges::lower_bound(ends, place + stop.size()) - ends.begin(),
                               static_cast<std::int64_t>(begin));
    if (!first || token + 1 < first->tokens || (token + 1 == first->tokens && place < at)) {
      first = Stopped{.tokens = token + 1, .text = {}, .stop = stop};
      at = place;
    }
  }
  if (first) {
    text.resize(include ? at + first->stop.size() : at);
    first->text = std::move(text);
  }
  return first;
}

std::int64_t token_id_of(std::string_view piece, const text::Tokenizer* tokenizer) {
  if (tokenizer != nullptr) {
    std::vector<text::Token> tokens;
    tokenizer->cut(piece, tokens);
    return tokens.empty() ? 0 : tokens.front().id;
  }
  const std::string_view bare = piece.starts_with(' ') ? piece.substr(1) : piece;
  if (const auto number = text::word_number(bare)) {
    return kFirstWordId + static_cast<std::int64_t>(*number);
  }
  return static_cast<std::int64_t>(kFirstHashId + hash_text(piece) % kHashIds);
}

std::string word_of(std::int64_t token_id, const text::Tokenizer* tokenizer) {
  if (tokenizer != nullptr) {
    return std::string(tokenizer->text_of(token_id));
  }
  const std::int64_t number = token_id - kFirstWordId;
  if (number < 0 || number >= static_cast<std::int64_t>(text::kNumWords)) {
    return {};
  }
  return " " + std::string(text::word(static_cast<std::size_t>(number)));
}

}  // namespace ridgeline::openai
