#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ids.hpp"
#include "engine/options.hpp"
#include "engine/reference/kv_cache.hpp"

namespace ridgeline::engine::reference {

/// The blocks of one request, one table per cache group; equal in length, null where a window has
/// moved on.
struct BlockTables {
  std::vector<std::vector<core::BlockId>> groups;
  std::vector<std::int64_t>
      num_hashed;  ///< Of each table, from its start, entered into the prefix cache.
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
  /// first.
  [[nodiscard]] std::int64_t blocks_needed(const BlockTables& tables,
                                           const CachedPrefix& prefix,
                                           std::int64_t tokens) const;
  void adopt(BlockTables& tables, const CachedPrefix& prefix);
  void extend(BlockTables& tables, std::int64_t tokens);
  void hash_full_blocks(BlockTables& tables,
                        const std::vector<std::uint64_t>& hashes,
                        std::int64_t tokens);
  /// Gives back what lies wholly left of the sliding windows once `computed` tokens are.
  void drop_left_of_windows(BlockTables& tables, std::int64_t computed);
  void release(BlockTables& tables);

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

  KvCache pool_;
  std::int64_t block_size_;
  bool enable_prefix_caching_;
  bool frees_in_order_;
  bool drops_last_hit_;
  std::vector<std::int64_t> windows_;  ///< Of each group; 0: full attention.
};

}  // namespace ridgeline::engine::reference
