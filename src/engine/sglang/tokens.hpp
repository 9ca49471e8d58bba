#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/check.hpp"
#include "domain/request.hpp"

namespace ridgeline::engine::sglang {

/// A run of tokens that are known by a content and their places in it: two tokens are equal where
/// both are.
struct Piece {
  std::uint64_t content = 0;
  std::int64_t offset = 0;  ///< Place of the first token in the content.
  std::int64_t length = 0;
};

/// Tokens as pieces: a request's prompt and what it generates, or what a node of the tree holds.
class Tokens {
 public:
  Tokens() = default;
  /// A request's prompt, and `outputs` tokens behind it.
  Tokens(const domain::Request& request, std::int64_t outputs) {
    std::int64_t named = 0;
    const std::int64_t prompt = request.prompt_tokens.value();
    for (const domain::Segment& segment : request.prompt) {
      add({.content = segment.content, .offset = 0, .length = segment.length.value()});
      named += segment.length.value();
    }
    add({.content = domain::unique_content(request.id), .offset = 0, .length = prompt - named});
    add({.content = domain::output_content(request.id), .offset = 0, .length = outputs});
  }

  /// Runs that go on in one content become one piece: equal tokens are equal pieces.
  void add(const Piece& piece) {
    if (piece.length == 0) {
      return;
    }
    length_ += piece.length;
    if (!pieces_.empty() && pieces_.back().content == piece.content &&
        pieces_.back().offset + pieces_.back().length == piece.offset) {
      pieces_.back().length += piece.length;
    } else {
      pieces_.push_back(piece);
    }
  }

  /// Each token with the one behind it, but for the last: two pairs are equal where both tokens
  /// are.
  [[nodiscard]] Tokens pairs() const {
    // A pair that spans two pieces is of a content of its own; a multiplier as Knuth's for MMIX.
    constexpr std::uint64_t kMultiplier = 6364136223846793005ULL;
    Tokens pairs;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      Piece inside = pieces_[i];
      --inside.length;
      pairs.add(inside);
      if (i + 1 < pieces_.size()) {
        const Piece& next = pieces_[i + 1];
        pairs.add({.content = ((inside.content * kMultiplier) ^ next.content) * kMultiplier +
                              static_cast<std::uint64_t>(next.offset) + 1,
                   .offset = inside.offset + inside.length,
                   .length = 1});
      }
    }
    return pairs;
  }

  [[nodiscard]] std::int64_t length() const { return length_; }
  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }

  /// The tokens from `begin` to `end`, less the latter.
  [[nodiscard]] Tokens part(std::int64_t begin, std::int64_t end) const {
    Tokens part;
    std::int64_t at = 0;
    for (const Piece& piece : pieces_) {
      const std::int64_t from = std::max(begin, at);
      const std::int64_t to = std::min(end, at + piece.length);
      if (from < to) {
        part.add(
            {.content = piece.content, .offset = piece.offset + from - at, .length = to - from});
      }
      at += piece.length;
    }
    return part;
  }

 private:
  std::vector<Piece> pieces_;
  std::int64_t length_ = 0;
};

/// A place in a sequence of tokens, from which they are read in order up to an end.
class TokenCursor {
 public:
  /// Over the first `end` tokens.
  TokenCursor(const Tokens& tokens, std::int64_t end) : pieces_(&tokens.pieces()), left_(end) {
    RIDGELINE_CHECK(end <= tokens.length(), "a cursor ends within its tokens");
  }

  /// Tokens between here and the end.
  [[nodiscard]] std::int64_t left() const { return left_; }
  /// The rest of the piece here. Requires that something is left.
  [[nodiscard]] Piece piece() const {
    const Piece& whole = (*pieces_)[index_];
    return {.content = whole.content,
            .offset = whole.offset + inside_,
            .length = std::min(whole.length - inside_, left_)};
  }
  void skip(std::int64_t count) {
    left_ -= count;
    inside_ += count;
    while (index_ < pieces_->size() && inside_ >= (*pieces_)[index_].length) {
      inside_ -= (*pieces_)[index_].length;
      ++index_;
    }
  }

 private:
  const std::vector<Piece>* pieces_;
  std::size_t index_ = 0;
  std::int64_t inside_ = 0;  ///< Tokens of the piece that are passed.
  std::int64_t left_ = 0;
};

}  // namespace ridgeline::engine::sglang
