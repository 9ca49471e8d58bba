#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ids.hpp"
#include "engine/options.hpp"
#include "engine/reference/kv_cache.hpp"

namespace ridgeline::engine::reference {

/// The blocks of one request, one table per cache group; equal in length, null where a window has
/// moved on. Beside them, up to where the BlockManager has nothing to do for it.
struct BlockTables {
  std::vector<std::vector<core::BlockId>> groups;
  std::int64_t num_hashed = 0;    ///< Of each table, from its start, entered into the prefix cache.
  std::int64_t tokens_held = 0;   ///< extend() to as many or fewer does nothing.
  std::int64_t hashed_below = 0;  ///< hash_full_blocks() of fewer does nothing.
  std::int64_t windows_rest_below = 0;   ///< drop_left_of_windows() of fewer does nothing.
  std::vector<std::int64_t> num_passed;  ///< Of each table, from its start, left of its window.
};

/// A cached prefix: for each group the blocks of its first `num_blocks` blocks.
struct CachedPrefix {
  std::int64_t num_blocks = 0;
  std::vector<std::vector<core::BlockId>> groups;
};

/// vLLM's KV-cache manager: hands the pool's blocks to requests, group by group, and finds cached
/// prefixes.
class BlockManager {
 public:
  explicit BlockManager(const EngineOptions& options);

  /// The longest prefix of at most `most` blocks that every group has cached.
  [[nodiscard]] CachedPrefix find_prefix(const std::vector<std::uint64_t>& hashes,
                                         std::int64_t most) const;

  /// Blocks the pool must give so that the request can hold `tokens` tokens, adopting `prefix`
  /// first. `capped`: from a sliding window no more than it ever holds at a time.
  [[nodiscard]] std::int64_t blocks_needed(const BlockTables& tables,
                                           const CachedPrefix& prefix,
                                           std::int64_t tokens,
                                           bool capped) const;
  void adopt(BlockTables& tables, CachedPrefix prefix);
  /// Puts memory aside for the tables of a request that will hold `tokens` tokens.
  void reserve(BlockTables& tables, std::int64_t tokens) const;
  /// Gives the request blocks for that many tokens; if the pool has too few, none, and false.
  bool extend(BlockTables& tables, std::int64_t tokens) {
    return tokens <= tables.tokens_held || take_blocks(tables, tokens);
  }
  void hash_full_blocks(BlockTables& tables,
                        const std::vector<std::uint64_t>& hashes,
                        std::int64_t tokens);
  /// Gives back what lies wholly left of the sliding windows once `computed` tokens are.
  void drop_left_of_windows(BlockTables& tables, std::int64_t computed) {
    if (computed >= tables.windows_rest_below) {
      move_windows(tables, computed);
    }
  }
  void release(BlockTables& tables);
  /// Forgets every cached block; refused, with false, while a block is held.
  bool reset_prefix_cache() { return pool_.reset(); }

  [[nodiscard]] const KvCache& pool() const { return pool_; }
  [[nodiscard]] std::int64_t block_size() const { return block_size_; }
  [[nodiscard]] std::size_t num_groups() const { return windows_.size(); }

 private:
  [[nodiscard]] std::vector<core::BlockId> find_from_start(const std::vector<std::uint64_t>& hashes,
                                                           std::size_t group,
                                                           std::int64_t most) const;
  [[nodiscard]] std::vector<core::BlockId> find_in_window(const std::vector<std::uint64_t>& hashes,
                                                          std::size_t group,
                                                          std::int64_t most) const;

  [[nodiscard]] std::vector<std::vector<core::BlockId>> find_layout(
      const std::vector<std::uint64_t>& hashes,
      const std::vector<std::size_t>& layout,
      std::int64_t most) const;
  [[nodiscard]] CachedPrefix find_common(const std::vector<std::uint64_t>& hashes,
                                         std::int64_t most) const;
  [[nodiscard]] std::int64_t blocks_for(std::int64_t tokens) const {
    return (tokens + block_size_ - 1) / block_size_;
  }
  bool take_blocks(BlockTables& tables, std::int64_t tokens);
  void move_windows(BlockTables& tables, std::int64_t computed);
  void note_hashed(BlockTables& tables, std::int64_t blocks) const;
  void note_windows(BlockTables& tables) const;
  [[nodiscard]] std::int64_t most_blocks_of_window(std::int64_t window) const;

  KvCache pool_;
  std::int64_t block_size_;
  bool enable_prefix_caching_;
  bool frees_in_order_;
  bool drops_last_hit_;
  bool drops_per_layout_;
  std::int64_t most_tokens_in_flight_;
  std::vector<std::int64_t> windows_;  ///< Of each group; 0: full attention.
  /// Groups with one window width, full attention first: what is looked up together.
  std::vector<std::vector<std::size_t>> layouts_;
  std::vector<core::BlockId> dropped_;  ///< By the window that moves on; kept for its memory.
};

}  // namespace ridgeline::engine::reference
