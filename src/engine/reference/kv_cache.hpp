#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/units.hpp"

namespace ridgeline::engine::reference {

/// A block that holds nothing and is never handed out: it stands where a sliding window has moved
/// on.
inline constexpr core::BlockId kNullBlock{0};

/// vLLM's block pool and prefix cache, written to be read: blocks with reference counts, a free
/// list in order of reuse, and a map from (hash, cache group) to the blocks that hold it, oldest
/// first.
class KvCache {
 public:
  struct Options {
    core::Blocks num_gpu_blocks;  ///< Includes the null block.
    bool free_unhashed_first = false;
  };
  explicit KvCache(const Options& options);

  [[nodiscard]] std::int64_t num_free() const { return static_cast<std::int64_t>(free_.size()); }
  [[nodiscard]] std::int64_t num_usable() const {
    return static_cast<std::int64_t>(blocks_.size()) - 1;
  }
  [[nodiscard]] std::int64_t num_used() const { return num_usable() - num_free(); }
  [[nodiscard]] const std::list<core::BlockId>& free_list() const { return free_; }

  /// The oldest block that holds this hash for this group.
  [[nodiscard]] std::optional<core::BlockId> find(std::uint64_t hash, std::size_t group = 0) const;
  /// How many of them nobody holds: adopting those takes them off the free list.
  [[nodiscard]] std::int64_t num_unheld(const std::vector<core::BlockId>& blocks) const;

  /// One more holder for each block but the null block.
  void touch(const std::vector<core::BlockId>& blocks);
  /// Takes a block from the head of the free list, forgetting what it held. Requires num_free() >
  /// 0.
  core::BlockId allocate();
  /// Enters a full block into the prefix cache.
  void set_hash(core::BlockId block, std::uint64_t hash, std::size_t group = 0);
  /// One holder less for each block, null blocks aside, in the order given.
  void release(const std::vector<core::BlockId>& blocks);
  /// Forgets what every block holds, and leaves the free list as it is; refused, with false, while
  /// anybody holds a block.
  bool reset();

  [[nodiscard]] std::int64_t references(core::BlockId block) const {
    return blocks_[block].references;
  }

 private:
  using Key = std::pair<std::uint64_t, std::size_t>;
  struct Block {
    std::int64_t references = 0;
    std::optional<Key> key;
    std::list<core::BlockId>::iterator free_position;
  };

  Options options_;
  core::IndexVector<Block, core::BlockId> blocks_;
  std::list<core::BlockId> free_;
  std::map<Key, std::vector<core::BlockId>> cached_;
};

}  // namespace ridgeline::engine::reference
