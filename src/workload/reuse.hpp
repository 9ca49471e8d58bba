#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/units.hpp"
#include "domain/chain.hpp"

namespace ridgeline::workload {

/// Reuse distances of the blocks of prompts: how many other blocks were used since a block was used
/// last, and so how large a cache that evicts the least recently used must be to hold it still
/// (R. L. Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal
/// 9(2), 1970). Counted by a Fenwick tree over the times of last use.
///
/// A request uses all blocks of its tokens, the last first. So of the blocks that one use was the
/// last of, those that a later request uses are always the first ones: a use is one row, which
/// shrinks from its beginning. Cost and memory follow the rows, not the blocks.
class ReuseDistances {
 public:
  /// Blocks of that many tokens, above zero.
  explicit ReuseDistances(core::Tokens block) : block_(block.value()) {}

  /// Visits the blocks of the first `tokens` tokens of `chain` that were used before, in rows from
  /// the first on: visit(distance, count) for `count` blocks with distances that count up from
  /// `distance`. A last block that is not full counts.
  template <class Visitor>
  void for_each_repeat(const domain::Chain& chain, std::int64_t tokens, Visitor&& visit) const {
    const std::int64_t blocks = blocks_of(tokens);
    for (std::int64_t block = 0; block < blocks;) {
      const auto found = rows_by_key_.find(key_of(chain, tokens, block));
      if (found == rows_by_key_.end()) {
        return;
      }
      const Row& row = rows_[found->second];
      const std::int64_t end = common_end(row, chain, tokens, block);
      visit(live_ - sum_to(row.time), end - block);
      block = end;
    }
  }
  /// Uses these blocks.
  void use(const domain::Chain& chain, std::int64_t tokens);
  /// Uses `count` blocks that will never be asked for.
  void use_nameless(std::int64_t count);
  /// Blocks ever used.
  [[nodiscard]] std::int64_t distinct() const { return live_; }

 private:
  using RowIndex = std::uint32_t;
  static constexpr RowIndex kNoRow = static_cast<RowIndex>(-1);
  /// The blocks that were used last by one request: from block `begin` of its tokens on.
  struct Row {
    domain::Chain chain;
    std::int64_t tokens = 0;
    std::int64_t begin = 0;
    std::size_t time = 0;
  };
  /// What was used at a time and not since.
  struct Use {
    std::int64_t blocks = 0;
    RowIndex row = kNoRow;
  };

  [[nodiscard]] std::int64_t blocks_of(std::int64_t tokens) const {
    return (tokens + block_ - 1) / block_;
  }
  /// The key of the tokens up to the end of a block.
  [[nodiscard]] std::uint64_t key_of(const domain::Chain& chain,
                                     std::int64_t tokens,
                                     std::int64_t block) const {
    return chain.key(std::min((block + 1) * block_, tokens));
  }
  [[nodiscard]] std::int64_t common_end(const Row& row,
                                        const domain::Chain& chain,
                                        std::int64_t tokens,
                                        std::int64_t block) const;
  void append(std::int64_t blocks, RowIndex row);
  void compact();
  void add(std::size_t time, std::int64_t value);
  [[nodiscard]] std::int64_t sum_to(std::size_t time) const;

  std::int64_t block_;
  std::vector<Row> rows_;
  std::vector<RowIndex> spare_rows_;
  /// By the key of their first block.
  std::unordered_map<std::uint64_t, RowIndex> rows_by_key_;
  std::vector<Use> uses_;           ///< By time.
  std::vector<std::int64_t> tree_;  ///< Over the blocks of uses_, from 1.
  std::int64_t live_ = 0;
};

}  // namespace ridgeline::workload
