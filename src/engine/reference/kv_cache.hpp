#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/ids.hpp"
#include "core/units.hpp"

namespace ridgeline::engine::reference {

/// A block that holds nothing and is never handed out: it stands where a sliding window has moved
/// on.
inline constexpr core::BlockId kNullBlock{0};

/// vLLM's block pool and prefix cache, written to be read: blocks with reference counts, a free
/// list in order of reuse, and a map from (hash, cache group) to the blocks that hold it, youngest
/// first. The links of both stand in the blocks, as vLLM's free queue has them: whole runs of
/// networks with windows pass through here.
class KvCache {
 public:
  struct Options {
    core::Blocks num_gpu_blocks;  ///< Includes the null block.
    bool free_unhashed_first = false;
  };
  explicit KvCache(const Options& options);

  [[nodiscard]] std::int64_t num_free() const { return num_free_; }
  [[nodiscard]] std::int64_t num_usable() const {
    return static_cast<std::int64_t>(blocks_.size()) - 1;
  }
  [[nodiscard]] std::int64_t num_used() const { return num_usable() - num_free(); }
  /// Holders beyond the first, over all blocks.
  [[nodiscard]] std::int64_t num_shared() const { return num_shared_; }
  [[nodiscard]] std::vector<core::BlockId> free_list() const;

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
  struct Block {
    std::uint64_t hash = 0;
    std::uint32_t references = 0;
    core::BlockId next_in_bucket = kNullBlock;  ///< Of those in the cache, the one before it.
    core::BlockId previous_in_bucket = kNullBlock;
    core::BlockId next_free = kNullBlock;  ///< The free list is a ring through the null block.
    core::BlockId previous_free = kNullBlock;
    std::uint16_t group = 0;
    bool is_cached = false;  ///< Can be found under its hash and group.

    [[nodiscard]] bool holds(std::uint64_t its_hash, std::size_t its_group) const {
      return hash == its_hash && group == its_group;
    }
  };

  [[nodiscard]] std::size_t bucket_of(std::uint64_t hash, std::size_t group) const;
  void forget(core::BlockId id);
  void insert_free_after(core::BlockId where, core::BlockId id);
  void take_free(core::BlockId id);

  Options options_;
  core::IndexVector<Block, core::BlockId> blocks_;
  int bucket_shift_ = 0;  ///< Leaves as many bits of 64 as the number of a bucket has.
  std::vector<core::BlockId> buckets_;  ///< The youngest block of each; a power of two of them.
  std::int64_t num_free_ = 0;
  std::int64_t num_shared_ = 0;
};

}  // namespace ridgeline::engine::reference
