#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units.hpp"
#include "engine/fast/block_size.hpp"

namespace ridgeline::engine::fast {

/// The requests that decode, as sums: how many, how much context, and in which batches they begin
/// a KV block. A request with base b has b + m tokens computed before batch m.
class DecodeSet {
 public:
  explicit DecodeSet(core::Tokens block_size)
      : block_size_(block_size), starting_(static_cast<std::size_t>(block_size.value())) {}

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

  /// Blocks that begin in batches first, ..., first + count - 1: how many, and over all of them the
  /// sums of i and of i^2 where a block begins in the i-th of those batches, from 1 on.
  struct NewBlocks {
    std::int64_t number = 0;
    std::int64_t places = 0;
    std::int64_t squares = 0;
  };
  [[nodiscard]] NewBlocks new_blocks(std::int64_t first, std::int64_t count) const {
    const std::int64_t size = block_size_.value();
    const std::int64_t cycles = block_size_.whole(count);
    const std::int64_t rest = count - cycles * size;
    NewBlocks of_rest;
    std::int64_t i = 1;
    for (; i <= rest; ++i) {
      add_blocks(of_rest, first, i);
    }
    if (cycles == 0) {
      return of_rest;
    }
    NewBlocks sum = of_rest;
    for (; i <= size; ++i) {
      add_blocks(sum, first, i);
    }
    // Cycle j = 0, 1, ... has its blocks at i + j size; the rest is the beginning of one more.
    const std::int64_t js = cycles * (cycles - 1) / 2;
    const std::int64_t j_squares = js * (2 * cycles - 1) / 3;
    const std::int64_t past = cycles * size;
    return {.number = cycles * sum.number + of_rest.number,
            .places = cycles * sum.places + js * size * sum.number + of_rest.places +
                      past * of_rest.number,
            .squares = cycles * sum.squares + 2 * js * size * sum.places +
                       j_squares * size * size * sum.number + of_rest.squares +
                       2 * past * of_rest.places + past * past * of_rest.number};
  }

  /// The largest number of batches from `first` on, up to `most`, that begin no more than `blocks`.
  [[nodiscard]] std::int64_t batches_within(std::int64_t blocks,
                                            std::int64_t first,
                                            std::int64_t most) const {
    const std::int64_t most_cycles = block_size_.whole(most);
    if ((most_cycles + 1) * count_ <= blocks) {
      return most;
    }
    const std::int64_t cycles = count_ == 0 ? 0 : std::min(blocks / count_, most_cycles);
    std::int64_t batches = cycles * block_size_.value();
    std::int64_t left = blocks - cycles * count_;
    while (batches < most && blocks_in(first + batches) <= left) {
      left -= blocks_in(first + batches);
      ++batches;
    }
    return batches;
  }

 private:
  void add_blocks(NewBlocks& to, std::int64_t first, std::int64_t i) const {
    const std::int64_t taken = blocks_in(first + i - 1);
    to.number += taken;
    to.places += taken * i;
    to.squares += taken * i * i;
  }
  [[nodiscard]] std::size_t residue(std::int64_t value) const {
    return static_cast<std::size_t>(block_size_.rest(value));
  }

  BlockSize block_size_;
  std::int64_t count_ = 0;
  std::int64_t base_sum_ = 0;
  std::vector<std::int64_t> starting_;  ///< By batch number, mod block size.
};

}  // namespace ridgeline::engine::fast
