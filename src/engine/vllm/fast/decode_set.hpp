#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/check.hpp"
#include "core/units.hpp"
#include "engine/vllm/fast/block_size.hpp"

namespace ridgeline::engine::vllm::fast {

/// vLLM's default block size.
inline constexpr std::size_t kUsualBlockSize = 16;

/// Weights for sums over the first k batches of a window of batches: one, the batch's place and the
/// place squared; zero for batches after the k-th.
struct WindowWeights {
  using Window = std::array<std::int16_t, kUsualBlockSize>;
  Window number{};
  Window places{};
  Window squares{};

  /// The weights for every k.
  static constexpr std::array<WindowWeights, kUsualBlockSize + 1> all();
};
constexpr std::array<WindowWeights, kUsualBlockSize + 1> WindowWeights::all() {
  std::array<WindowWeights, kUsualBlockSize + 1> weights{};
  for (std::size_t k = 1; k <= kUsualBlockSize; ++k) {
    for (std::size_t i = 0; i < k; ++i) {
      weights[k].number[i] = 1;
      weights[k].places[i] = static_cast<std::int16_t>(i + 1);
      weights[k].squares[i] = static_cast<std::int16_t>((i + 1) * (i + 1));
    }
  }
  return weights;
}

/// The requests that decode, kept as sums: how many they are, their context, and in which batches
/// they begin a KV block. A request with base b has b + m tokens computed before batch m.
class DecodeSet {
 public:
  explicit DecodeSet(core::Tokens block_size)
      : block_size_(block_size),
        is_usual_(block_size == core::Tokens(kUsualBlockSize)),
        starting_(static_cast<std::size_t>(block_size.value())) {}

  void add(std::int64_t base) {
    ++count_;
    ++changes_;
    base_sum_ += base;
    change(residue(-base), 1);
  }
  void remove(std::int64_t base) {
    --count_;
    ++changes_;
    base_sum_ -= base;
    change(residue(-base), -1);
  }

  [[nodiscard]] std::int64_t count() const { return count_; }
  /// How many requests were added and removed so far: as long as it stays, so does the set.
  [[nodiscard]] std::int64_t changes() const { return changes_; }
  [[nodiscard]] core::Tokens context(std::int64_t batch) const {
    return core::Tokens(base_sum_ + count_ * batch);
  }
  /// The number of blocks that decodes begin in a batch.
  [[nodiscard]] std::int64_t blocks_in(std::int64_t batch) const {
    return starting_[residue(batch)];
  }
  [[nodiscard]] bool begins_block(std::int64_t base, std::int64_t batch) const {
    return residue(base + batch) == 0;
  }

  /// The blocks that decodes begin in the batches first, ..., first + count - 1. Each block that
  /// begins in the i-th of these batches, i from 1, adds 1 to `number`, i to `places` and i^2 to
  /// `squares`.
  struct NewBlocks {
    std::int64_t number = 0;
    std::int64_t places = 0;
    std::int64_t squares = 0;

    /// The sum of i (i - 1) / 2 over these blocks.
    [[nodiscard]] std::int64_t pairs() const {
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(squares - places) / 2);
    }
  };
  [[nodiscard]] NewBlocks new_blocks(std::int64_t first, std::int64_t count) const {
    const std::int64_t size = block_size_.value();
    const std::int64_t cycles = block_size_.whole(count);
    const std::int64_t rest = count - cycles * size;
    if (is_usual_ && count_ <= kMostNarrow) [[likely]] {
      const auto* const window = &twice_[residue(first)];
      const NewBlocks of_rest = weigh(window, static_cast<std::size_t>(rest));
      if (cycles == 0) {
        return of_rest;
      }
      NewBlocks of_cycle = weigh(window, kUsualBlockSize);
      of_cycle.number = count_;  // Each decode begins one block per cycle.
      return over_cycles(of_cycle, of_rest, cycles);
    }
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
    return over_cycles(sum, of_rest, cycles);
  }

  /// The largest number of batches from `first` on, at most `most`, in which decodes begin no more
  /// than `blocks` blocks.
  [[nodiscard]] std::int64_t batches_within(std::int64_t blocks,
                                            std::int64_t first,
                                            std::int64_t most) const {
    const std::int64_t most_cycles = block_size_.whole(most);
    if ((most_cycles + 1) * count_ <= blocks) {
      return most;
    }
    const std::int64_t cycles = count_ == 0 ? 0 : std::min(blocks / count_, most_cycles);
    std::int64_t batches = cycles * block_size_.value();
    std::int64_t remaining = blocks - cycles * count_;
    while (batches < most && blocks_in(first + batches) <= remaining) {
      remaining -= blocks_in(first + batches);
      ++batches;
    }
    return batches;
  }

 private:
  /// The largest number of decodes that is counted in 16 bits.
  static constexpr std::int64_t kMostNarrow = std::numeric_limits<std::int16_t>::max();
  /// The sums over the first k batches of a window. The loop has a fixed length, so that it
  /// compiles to vector instructions; a loop up to k would end at a branch that is predicted badly.
  static NewBlocks weigh(const std::int16_t* window, std::size_t k) {
    static constexpr auto kWeights = WindowWeights::all();
    const WindowWeights& weights = kWeights[k];
    std::int32_t number = 0;
    std::int32_t places = 0;
    std::int32_t squares = 0;
    for (std::size_t i = 0; i < kUsualBlockSize; ++i) {
      number += window[i] * weights.number[i];
      places += window[i] * weights.places[i];
      squares += window[i] * weights.squares[i];
    }
    return {.number = number, .places = places, .squares = squares};
  }

  /// The sums over `cycles` windows of block-size batches, each with the sums `sum`, and then over
  /// the rest, which is the beginning of one more window.
  [[nodiscard]] NewBlocks over_cycles(const NewBlocks& sum,
                                      const NewBlocks& of_rest,
                                      std::int64_t cycles) const {
    // Cycle j = 0, 1, ... begins its blocks at places i + j size.
    const std::int64_t size = block_size_.value();
    const auto js =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(cycles * (cycles - 1)) / 2);
    const auto j_squares =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(js * (2 * cycles - 1)) / 3);
    const std::int64_t past = cycles * size;
    return {.number = cycles * sum.number + of_rest.number,
            .places = cycles * sum.places + js * size * sum.number + of_rest.places +
                      past * of_rest.number,
            .squares = cycles * sum.squares + 2 * js * size * sum.places +
                       j_squares * size * size * sum.number + of_rest.squares +
                       2 * past * of_rest.places + past * past * of_rest.number};
  }

  void add_blocks(NewBlocks& to, std::int64_t first, std::int64_t i) const {
    const std::int64_t taken = blocks_in(first + i - 1);
    to.number += taken;
    to.places += taken * i;
    to.squares += taken * i * i;
  }
  [[nodiscard]] std::size_t residue(std::int64_t value) const {
    return static_cast<std::size_t>(block_size_.rest(value));
  }

  void change(std::size_t at, std::int64_t by) {
    starting_[at] += by;
    RIDGELINE_CHECK(starting_[at] >= 0, "decode set: a decode leaves with a base it did not have");
    if (is_usual_) {
      // With more than kMostNarrow decodes this number may wrap; it is not read then.
      const auto narrow = static_cast<std::int16_t>(starting_[at]);
      twice_[at] = narrow;
      twice_[at + kUsualBlockSize] = narrow;
    }
  }

  BlockSize block_size_;
  bool is_usual_;
  std::int64_t count_ = 0;
  std::int64_t changes_ = 0;
  std::int64_t base_sum_ = 0;
  std::vector<std::int64_t> starting_;  ///< Blocks begun, by batch number mod block size.
  /// starting_ twice in a row, so that a window from any place on is contiguous.
  std::array<std::int16_t, 2 * kUsualBlockSize> twice_{};
};

}  // namespace ridgeline::engine::vllm::fast
