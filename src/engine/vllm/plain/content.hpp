#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/ids.hpp"
#include "domain/prompt.hpp"
#include "domain/request.hpp"

namespace ridgeline::engine::vllm::plain {

/// One link of vLLM's hash chain: a block's hash with its parent's, or a token with those before it
/// in the block. For a given parent two different tokens never meet, nor the other way round.
[[nodiscard]] constexpr std::uint64_t chain(std::uint64_t parent, std::uint64_t token) {
  // Multiplier of Knuth's MMIX generator (The Art of Computer Programming, volume 2,
  // section 3.3.4).
  constexpr std::uint64_t kMultiplier = 6364136223846793005ULL;
  return parent * kMultiplier + token;
}

/// What chain() makes of a hash and `count` tokens, numbered from `token` on.
[[nodiscard]] constexpr std::uint64_t chain_run(std::uint64_t hash,
                                                std::uint64_t token,
                                                std::int64_t count) {
  // Four tokens at a time where that goes: chained among themselves, before the hash so far is
  // known.
  constexpr std::uint64_t kFourLinks = chain(chain(chain(chain(1, 0), 0), 0), 0);
  for (; count >= 4; count -= 4, token += 4) {
    hash = hash * kFourLinks + chain(chain(chain(token, token + 1), token + 2), token + 3);
  }
  for (; count > 0; --count, ++token) {
    hash = chain(hash, token);
  }
  return hash;
}

/// What a request's token sequence holds, prompt first and then what it generates.
class TokenSequence {
 public:
  explicit TokenSequence(const domain::Request& request);
  /// The sequence of a request whose prompt states no content.
  TokenSequence(core::RequestId request, std::int64_t prompt_tokens);

  /// What follows its first `kept` tokens is a prompt, and behind that what the request generates,
  /// of which there were `generated` tokens before.
  void go_on(std::int64_t kept, const domain::Request& turn, std::int64_t generated);

  /// Equal for two requests exactly where both the content and the place in it are.
  [[nodiscard]] std::uint64_t operator[](std::int64_t position) const {
    return piece(piece_at(position)).token(position);
  }
  /// A number of leading tokens that are the same in both. Pieces are compared, so it may be low.
  [[nodiscard]] std::int64_t common_tokens(const TokenSequence& other) const;
  /// The hash of the block that holds the tokens from `begin` to `end`, less the latter, and comes
  /// after `parent`. Quick where the calls follow one another.
  [[nodiscard]] std::uint64_t hash_block(std::uint64_t parent,
                                         std::int64_t begin,
                                         std::int64_t end) {
    return begin >= last_.begin && end <= last_.end
               ? chain(parent, chain_run(0, last_.token(begin), end - begin))
               : hash_across(parent, begin, end);
  }

 private:
  /// Tokens of one content, from a position to the next piece; of the last one, what the request
  /// generates, to no end.
  struct Piece {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint64_t first_token = 0;

    [[nodiscard]] std::uint64_t token(std::int64_t position) const {
      return first_token + static_cast<std::uint64_t>(position - begin);
    }
  };
  void add(std::uint64_t content, std::int64_t begin, std::int64_t length);
  std::uint64_t hash_across(std::uint64_t parent, std::int64_t begin, std::int64_t end);
  [[nodiscard]] Piece piece(std::size_t index) const;
  [[nodiscard]] std::int64_t end_of(std::size_t index) const {
    return index < shared_ ? history_->begin_of(index + 1) : pieces_[index - shared_].end;
  }
  [[nodiscard]] std::size_t num_pieces() const { return shared_ + pieces_.size(); }
  [[nodiscard]] std::size_t piece_at(std::int64_t position) const;

  /// The first pieces, which other prompts have as well.
  std::shared_ptr<const domain::History> history_;
  std::size_t shared_ = 0;
  std::vector<Piece> pieces_;  ///< Those behind.
  Piece last_;                 ///< At which hash_block() ended.
};

}  // namespace ridgeline::engine::vllm::plain
