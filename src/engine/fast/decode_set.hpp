#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units.hpp"

namespace ridgeline::engine::fast {

/// The requests that decode, as sums: how many, how much context, and in which batches they begin
/// a KV block. A request with base b has b + m tokens computed before batch m.
class DecodeSet {
 public:
  explicit DecodeSet(core::Tokens block_size)
      : block_size_(block_size.value()),
        mask_((block_size_ & (block_size_ - 1)) == 0 ? block_size_ - 1 : -1),
        starting_(static_cast<std::size_t>(block_size_)) {}

  void add(std::int64_t base) {
    ++count_;
    base_sum_ += base;
    ++starting_[residue(-base)];
  }
  void remove(std::int64_t base) {
    --count_;
    base_sum_ -= base;
    --starting_[residue(-base)];
  }

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] core::Tokens context(std::int64_t batch) const {
    return core::Tokens(base_sum_ + count_ * batch);
  }
  /// Blocks that begin in a batch.
  [[nodiscard]] std::int64_t blocks_in(std::int64_t batch) const {
    return starting_[residue(batch)];
  }
  [[nodiscard]] bool begins_block(std::int64_t base, std::int64_t batch) const {
    return residue(base + batch) == 0;
  }
  [[nodiscard]] std::int64_t block_size() const { return block_size_; }

  /// Blocks that begin in batches first, ..., first + count - 1.
  [[nodiscard]] std::int64_t blocks_in(std::int64_t first, std::int64_t count) const {
    std::int64_t blocks = count / block_size_ * count_;
    for (std::int64_t i = 0; i < count % block_size_; ++i) {
      blocks += blocks_in(first + i);
    }
    return blocks;
  }

 private:
  [[nodiscard]] std::size_t residue(std::int64_t value) const {
    if (mask_ >= 0) {
      return static_cast<std::size_t>(value & mask_);
    }
    const std::int64_t rest = value % block_size_;
    return static_cast<std::size_t>(rest < 0 ? rest + block_size_ : rest);
  }

  std::int64_t block_size_;
  std::int64_t mask_;  ///< Of a block size that is a power of two; else negative.
  std::int64_t count_ = 0;
  std::int64_t base_sum_ = 0;
  std::vector<std::int64_t> starting_;  ///< By batch number, mod block size.
};

}  // namespace ridgeline::engine::fast
