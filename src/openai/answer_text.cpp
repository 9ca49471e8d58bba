#include "openai/answer_text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "openai/prompt_builder.hpp"
#include "text/pieces.hpp"
#include "text/words.hpp"

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

AnswerText AnswerText::of_words(std::uint64_t seed, std::uint64_t request) {
  AnswerText answer;
  answer.seed_ = mixed(seed + 1);
  answer.request_ = request;
  return answer;
}

AnswerText AnswerText::of_pieces(std::vector<std::string> pieces) {
  AnswerText answer;
  answer.pieces_ = std::make_shared<const std::vector<std::string>>(std::move(pieces));
  return answer;
}

AnswerText AnswerText::of_text(std::string_view text) {
  text::Pieces pieces(text);
  std::vector<std::string> all;
  while (const auto piece = pieces.next()) {
    all.emplace_back(*piece);
  }
  return of_pieces(std::move(all));
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
  std::string piece;
  append(i, piece);
  return token_id_of(piece);
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
  for (std::int64_t i = 0; i < limit; ++i) {
    const std::size_t before = text.size();
    answer.append(i, text);
    if (i + 1 < min_tokens) {
      continue;
    }
    // What ends in this token begins at most so far before it.
    const std::size_t from = before > longest ? before - longest : 0;
    const std::string* first = nullptr;
    std::size_t at = std::string::npos;
    for (const std::string& stop : stops) {
      const std::size_t found = text.find(stop, from);
      if (found != std::string::npos && (first == nullptr || found < at)) {
        at = found;
        first = &stop;
      }
    }
    if (first != nullptr) {
      text.resize(include ? at + first->size() : at);
      return Stopped{.tokens = i + 1, .text = std::move(text), .stop = *first};
    }
  }
  return std::nullopt;
}

std::int64_t token_id_of(std::string_view piece) {
  const std::string_view bare = piece.starts_with(' ') ? piece.substr(1) : piece;
  if (const auto number = text::word_number(bare)) {
    return kFirstWordId + static_cast<std::int64_t>(*number);
  }
  return static_cast<std::int64_t>(kFirstHashId + hash_text(piece) % kHashIds);
}

std::string word_of(std::int64_t token_id) {
  const std::int64_t number = token_id - kFirstWordId;
  if (number < 0 || number >= static_cast<std::int64_t>(text::kNumWords)) {
    return {};
  }
  return " " + std::string(text::word(static_cast<std::size_t>(number)));
}

}  // namespace ridgeline::openai
