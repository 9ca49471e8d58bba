#include "engine/fast/content_keys.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

#include "domain/request.hpp"

namespace ridgeline::engine::fast {
namespace {

/// Murmur3's 64-bit finaliser (Appleby 2011), a bijection.
std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  x ^= x >> 33;
  return x;
}

/// Folds a piece of `length` tokens of `content`, from `offset`, into a key.
std::uint64_t fold(std::uint64_t key,
                   std::uint64_t content,
                   std::int64_t offset,
                   std::int64_t length) {
  constexpr int kLengthBits = 24;  // block sizes are far below 2^24 tokens
  const auto place =
      (static_cast<std::uint64_t>(offset) << kLengthBits) | static_cast<std::uint64_t>(length);
  return mix(mix(key ^ content) + place);
}

}  // namespace

std::uint64_t ContentKeys::next(std::span<const domain::Segment> prompt,
                                std::int64_t prompt_tokens,
                                std::int64_t block_size) {
  const std::int64_t end = position_ + block_size;
  // A nonzero start keeps the first block's key apart from "no key".
  std::uint64_t key = key_ + 1;
  while (position_ < end) {
    if (segment_ < prompt.size()) {
      const std::int64_t segment_end = segment_begin_ + prompt[segment_].length.value();
      if (position_ >= segment_end) {
        segment_begin_ = segment_end;
        ++segment_;
        continue;
      }
      const std::int64_t upto = std::min(end, segment_end);
      key = fold(key, prompt[segment_].content, position_ - segment_begin_, upto - position_);
      position_ = upto;
    } else if (position_ < prompt_tokens) {
      const std::int64_t upto = std::min(end, prompt_tokens);
      key = fold(key, domain::unique_content(id_), position_ - segment_begin_, upto - position_);
      position_ = upto;
    } else {
      key = fold(key, domain::output_content(id_), position_ - prompt_tokens, end - position_);
      position_ = end;
    }
  }
  key_ = key == 0 ? 1 : key;  // 0 means "no key"
  return key_;
}

}  // namespace ridgeline::engine::fast
