#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.hpp"
#include "engine/options.hpp"
#include "engine/vllm/plain/kv_cache.hpp"

namespace ridgeline::engine::vllm::plain {

/// Hashes of a request's full blocks, in order; each covers all blocks before it.
using BlockHashes = std::vector<std::uint64_t>;

/// Blocks of one cache group in order. Where a window has moved on, its first ones are null.
struct BlockTable {
  std::vector<core::BlockId> blocks;
  std::int64_t num_passed = 0;  ///< Of those, null.

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(blocks.size()); }
  /// Keeps the first `count`.
  void resize(std::int64_t count);
};

/// The blocks of one request, one table per cache group; equal in length.
struct BlockTables {
  std::vector<BlockTable> groups;
  std::int64_t num_hashed = 0;  ///< Of each table, from its start, entered into the prefix cache.
};

/// A cached prefix: for each group its first `num_blocks` blocks, null where a window needs them no
/// more.
struct CachedPrefix {
  std::int64_t num_blocks = 0;
  std::vector<BlockTable> groups;
};

/// vLLM's KV-cache manager: hands the pool's blocks to requests, group by group, and finds cached
/// prefixes.
class BlockManager {
 public:
  explicit BlockManager(const EngineOptions& options);

  /// The longest prefix of at most `most` blocks that every group has cached.
  [[nodiscard]] CachedPrefix find_prefix(const BlockHashes& hashes, std::int64_t most);

  /// Blocks the pool must give so that the request can hold `tokens` tokens, adopting `prefix`
  /// first. `capped`: from a sliding window no more than it ever holds at a time.
  [[nodiscard]] std::int64_t blocks_needed(const BlockTables& tables,
                                           const CachedPrefix& prefix,
                                           std::int64_t tokens,
                                           bool capped) const;
  /// Takes hold of what find_prefix() gave.
  void adopt(BlockTables& tables, CachedPrefix prefix);
  /// Gives the request blocks for that many tokens; if the pool has too few, none, and false.
  bool extend(BlockTables& tables, std::int64_t tokens);
  /// Enters the blocks that so many tokens fill.
  void hash_full_blocks(BlockTables& tables, const BlockHashes& hashes, std::int64_t tokens);
  /// Gives back what lies wholly left of the sliding windows once `computed` tokens are.
  void drop_left_of_windows(BlockTables& tables, std::int64_t computed);
  void release(BlockTables& tables);
  /// Forgets every cached block; refused, with false, while a block is held.
  bool reset_prefix_cache() { return pool_.reset(); }

  /// extend() to as many or fewer does nothing.
  [[nodiscard]] std::int64_t tokens_held(const BlockTables& tables) const;
  /// hash_full_blocks() of fewer does nothing.
  [[nodiscard]] std::int64_t hashed_below(const BlockTables& tables) const;
  /// drop_left_of_windows() of fewer does nothing.
  [[nodiscard]] std::int64_t windows_rest_below(const BlockTables& tables) const;

  [[nodiscard]] const KvCache& pool() const { return pool_; }
  [[nodiscard]] std::int64_t block_size() const { return block_size_; }
  [[nodiscard]] std::int64_t num_groups() const {
    return static_cast<std::int64_t>(windows_.size());
  }

 private:
  [[nodiscard]] BlockTable find_from_start(const BlockHashes& hashes,
                                           std::size_t group,
                                           std::int64_t most);
  [[nodiscard]] BlockTable find_in_window(const BlockHashes& hashes,
                                          std::size_t group,
                                          std::int64_t most);
  [[nodiscard]] std::vector<BlockTable> find_layout(const BlockHashes& hashes,
                                                    const std::vector<std::size_t>& layout,
                                                    std::int64_t most);
  [[nodiscard]] CachedPrefix find_common(const BlockHashes& hashes, std::int64_t most);
  [[nodiscard]] std::int64_t blocks_for(std::int64_t tokens) const {
    return (tokens + block_size_ - 1) / block_size_;
  }
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
};

}  // namespace ridgeline::engine::vllm::plain
