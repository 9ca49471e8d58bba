#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units.hpp"
#include "domain/request.hpp"

namespace ridgeline::engine::fast {

/// Walks a request's tokens block by block and gives each full block its key: equal keys mean equal
/// tokens in it and in everything before it. A block is hashed by the pieces of content in it, not
/// by its tokens, so the cost does not follow the block size.
class ContentKeys {
 public:
  /// Back to the first block of a request with this prompt.
  void restart(core::RequestId id) {
    id_ = id;
    key_ = 0;
    position_ = 0;
    segment_ = 0;
    segment_begin_ = 0;
  }

  /// The key of the next block. `prompt` and `prompt_tokens` are the request's, the same at every
  /// call.
  std::uint64_t next(std::span<const domain::Segment> prompt,
                     std::int64_t prompt_tokens,
                     std::int64_t block_size);

  /// How many blocks were keyed since restart().
  [[nodiscard]] std::int64_t position() const { return position_; }

 private:
  core::RequestId id_;
  std::uint64_t key_ = 0;
  std::int64_t position_ = 0;  ///< In tokens.
  std::size_t segment_ =
      0;  ///< The segment that holds position_; prompt.size() means past the last.
  std::int64_t segment_begin_ = 0;  ///< Where that segment (or the unique tail) starts.
};

}  // namespace ridgeline::engine::fast
