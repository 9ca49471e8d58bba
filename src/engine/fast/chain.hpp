#pragma once

#include <cstdint>
#include <vector>

#include "domain/request.hpp"

namespace ridgeline::engine::fast {

/// The tokens of one request, prompt and output to come, as a chain of pieces of content. The key
/// of a position stands for all tokens before it: equal keys mean equal tokens (up to 64-bit
/// collisions), and any key costs a few multiplications, wherever it lies.
class Chain {
 public:
  /// A chain without tokens; assign() before use. Buffers are kept between tenants.
  Chain() = default;
  explicit Chain(const domain::Request& request) { assign(request); }

  void assign(const domain::Request& request);
  /// A request whose whole prompt is its own.
  void assign_unique(core::RequestId id, core::LoraId lora, core::Tokens prompt_tokens);

  /// The key of the tokens [0, end); never 0. end >= 1.
  [[nodiscard]] std::uint64_t key(std::int64_t end) const {
    if (end > prompt_tokens_) {
      return key_in(output_hash_, output_content_, end - prompt_tokens_);
    }
    if (end > shared_tokens_) {
      return key_in(tail_hash_, unique_content_, end - shared_tokens_);
    }
    return key_in_pieces(end);
  }
  /// Leading tokens that another request may state as well: what follows is the request's own.
  [[nodiscard]] std::int64_t shared_tokens() const { return shared_tokens_; }
  /// Whether the prompt states what another request was asked or answered.
  [[nodiscard]] bool quotes() const { return quotes_; }

 private:
  struct Piece {
    std::int64_t begin = 0;
    std::uint64_t hash = 0;  ///< Of all pieces before it.
    std::uint64_t content = 0;
  };

  static std::uint64_t mix(std::uint64_t x);
  static std::uint64_t key_in(std::uint64_t hash, std::uint64_t content, std::int64_t length) {
    const std::uint64_t key = mix(mix(hash ^ content) + static_cast<std::uint64_t>(length));
    return key == 0 ? 1 : key;
  }
  static std::uint64_t first_hash(core::LoraId lora);
  static std::uint64_t next_hash(std::uint64_t hash, std::uint64_t content, std::int64_t length);
  [[nodiscard]] std::uint64_t key_in_pieces(std::int64_t end) const;
  void finish(core::RequestId id, std::int64_t prompt_tokens, std::uint64_t hash);

  std::vector<Piece> pieces_;
  bool quotes_ = false;
  std::int64_t shared_tokens_ = 0;
  std::int64_t prompt_tokens_ = 0;
  std::uint64_t tail_hash_ = 0;
  std::uint64_t output_hash_ = 0;
  std::uint64_t unique_content_ = 0;
  std::uint64_t output_content_ = 0;
};

inline std::uint64_t Chain::mix(std::uint64_t x) {
  // Murmur3's 64-bit finaliser (Appleby 2011), a bijection.
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  x ^= x >> 33;
  return x;
}

}  // namespace ridgeline::engine::fast
