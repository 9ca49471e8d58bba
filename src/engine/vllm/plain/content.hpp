#pragma once

#include <cstdint>
#include <vector>

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

/// What a request's token sequence holds, prompt first and then what it generates.
class TokenSequence {
 public:
  explicit TokenSequence(const domain::Request& request);

  /// Equal for two requests exactly where both the content and the place in it are.
  [[nodiscard]] std::uint64_t operator[](std::int64_t position) const;
  /// The hash of the block that holds the tokens from `begin` to `end`, less the latter, and comes
  /// after `parent`: the hash of its tokens, one after the other, chained to the parent's.
  [[nodiscard]] std::uint64_t hash_block(std::uint64_t parent,
                                         std::int64_t begin,
                                         std::int64_t end) const;

 private:
  /// Tokens of one content, from a position to the next piece.
  struct Piece {
    std::int64_t end = 0;
    std::uint64_t token_zero = 0;  ///< Of position 0, if the piece reached there.
  };
  void add(std::uint64_t content, std::int64_t begin, std::int64_t length);
  [[nodiscard]] std::vector<Piece>::const_iterator piece_at(std::int64_t position) const;

  std::vector<Piece> pieces_;  ///< The last one, what the request generates, has no end.
};

}  // namespace ridgeline::engine::vllm::plain
