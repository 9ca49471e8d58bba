#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <vector>

#include "core/ids.hpp"
#include "core/units.hpp"

namespace ridgeline::engine::reference {

/// vLLM's block pool and prefix cache, written to be read: blocks with reference counts, a free list in order
/// of reuse, and a map from block hash to the blocks that hold it, oldest first.
class KvCache {
 public:
  struct Options {
    core::Blocks num_gpu_blocks;  ///< Block 0 is the null block and is never handed out.
    bool enable_prefix_caching = true;
    bool free_unhashed_first = false;
  };
  explicit KvCache(const Options& options);

  [[nodiscard]] std::int64_t num_free() const { return static_cast<std::int64_t>(free_.size()); }
  [[nodiscard]] std::int64_t num_usable() const { return static_cast<std::int64_t>(blocks_.size()) - 1; }
  [[nodiscard]] std::int64_t num_used() const { return num_usable() - num_free(); }
  [[nodiscard]] const std::list<core::BlockId>& free_list() const { return free_; }

  /// The blocks holding the longest cached run of this hash chain, from its start.
  [[nodiscard]] std::vector<core::BlockId> lookup(const std::vector<std::uint64_t>& hashes) const;
  /// How many of them nobody holds: adopting those takes them off the free list.
  [[nodiscard]] std::int64_t num_unheld(const std::vector<core::BlockId>& blocks) const;

  /// One more holder for each block.
  void touch(const std::vector<core::BlockId>& blocks);
  /// Takes a block from the head of the free list, forgetting what it held. Requires num_free() > 0.
  core::BlockId allocate();
  /// Enters a full block into the prefix cache.
  void set_hash(core::BlockId block, std::uint64_t hash);
  /// One holder less for each of a request's blocks, given in order of its tokens.
  void release(const std::vector<core::BlockId>& blocks);

  [[nodiscard]] std::int64_t references(core::BlockId block) const { return blocks_[block].references; }

 private:
  struct Block {
    std::int64_t references = 0;
    std::optional<std::uint64_t> hash;
    std::list<core::BlockId>::iterator free_position;
  };

  Options options_;
  core::IndexVector<Block, core::BlockId> blocks_;
  std::list<core::BlockId> free_;
  std::map<std::uint64_t, std::vector<core::BlockId>> cached_;
};

}  // namespace ridgeline::engine::reference
