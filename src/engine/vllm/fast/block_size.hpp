#pragma once

#include <bit>
#include <cstdint>

#include "core/check.hpp"
#include "core/units.hpp"

namespace ridgeline::engine::vllm::fast {

/// Tokens per KV block, as a divisor. In practice it is a power of two, and division is a shift: an
/// integer division takes some forty cycles.
class BlockSize {
 public:
  explicit BlockSize(core::Tokens size)
      : size_(size.value()),
        shift_((size_ & (size_ - 1)) == 0 ? std::countr_zero(static_cast<std::uint64_t>(size_))
                                          : -1) {
    RIDGELINE_CHECK(size_ > 0, "block size: a KV block holds at least one token");
  }

  [[nodiscard]] std::int64_t value() const { return size_; }
  /// The number of full blocks in n tokens; n >= 0.
  [[nodiscard]] std::int64_t whole(std::int64_t n) const {
    return shift_ >= 0 ? n >> shift_ : n / size_;
  }
  /// The number of blocks that hold `tokens` tokens.
  [[nodiscard]] std::int64_t covering(std::int64_t tokens) const {
    return whole(tokens + size_ - 1);
  }
  /// n mod size, 0 to size - 1 also for negative n.
  [[nodiscard]] std::int64_t rest(std::int64_t n) const {
    if (shift_ >= 0) {
      return n & (size_ - 1);
    }
    const std::int64_t rest = n % size_;
    return rest < 0 ? rest + size_ : rest;
  }

 private:
  std::int64_t size_;
  int shift_;  ///< log2 of the size; negative if the size is no power of two.
};

}  // namespace ridgeline::engine::vllm::fast
