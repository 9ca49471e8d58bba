#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.hpp"
#include "core/units.hpp"

namespace ridgeline::engine::vllm::plain {

/// A block that holds nothing and is never handed out: it stands where a sliding window has moved
/// on.
inline constexpr core::BlockId kNullBlock{0};

/// vLLM's block pool and prefix cache: blocks with reference counts, a free list in order of reuse,
/// and a table from the hash of a block's tokens to the blocks that hold them. A request enters the
/// blocks of all cache groups that hold the same tokens together: they are a row. A block forgets
/// what it held by being allocated again.
class KvCache {
 public:
  struct Options {
    core::Blocks num_gpu_blocks;  ///< Includes the null block.
    bool free_unhashed_first = false;
    std::size_t num_groups = 1;
  };
  explicit KvCache(const Options& options) : options_(options), num_free_(num_usable()) {}

  [[nodiscard]] std::int64_t num_free() const { return num_free_; }
  [[nodiscard]] std::int64_t num_usable() const { return options_.num_gpu_blocks.value() - 1; }
  [[nodiscard]] std::int64_t num_used() const { return num_usable() - num_free(); }
  /// Holders beyond the first, over all blocks.
  [[nodiscard]] std::int64_t num_shared() const { return num_shared_; }
  [[nodiscard]] std::vector<core::BlockId> free_list() const;
  /// How many requests hold a block.
  [[nodiscard]] std::int64_t references(core::BlockId block) const;

  /// The oldest block that holds this hash for this cache group. Takes empty rows of the hash out
  /// of the table: a prefix that is often forgotten and computed again leaves many.
  [[nodiscard]] std::optional<core::BlockId> find(std::uint64_t hash, std::size_t group = 0);
  /// How many of these no request holds: adopting those takes them off the free list.
  [[nodiscard]] std::int64_t num_unheld(const std::vector<core::BlockId>& blocks) const;

  /// One more holder for each block but the null block.
  void touch(const std::vector<core::BlockId>& blocks);
  /// Takes the block at the head of the free list, which forgets what it held. Requires num_free()
  /// > 0.
  core::BlockId allocate();
  /// Enters full blocks with the same tokens into the prefix cache: one of each group, or the null
  /// block.
  void enter(std::uint64_t hash, const std::vector<core::BlockId>& by_group);
  /// One holder less for each block, null blocks aside, in the order given.
  void release(const std::vector<core::BlockId>& blocks);
  /// Forgets what every block holds, and leaves the free list as it is; refused, with false, while
  /// a request holds a block.
  bool reset();

 private:
  using RowIndex = std::uint32_t;
  static constexpr RowIndex kNoRow = std::numeric_limits<RowIndex>::max();

  struct Block {
    std::uint32_t references = 0;
    std::uint32_t times_allocated = 0;
    std::uint32_t place = 0;  ///< In behind_, if it stands there: counted from the first that did.
    bool is_cached = false;   ///< In a row.
  };
  /// What a row holds for one group: until the block is allocated again.
  struct Entry {
    core::BlockId block = kNullBlock;
    std::uint32_t times_allocated = 0;
  };
  struct Row {
    std::uint64_t hash = 0;
    RowIndex older = kNoRow;  ///< In the same bucket.
  };
  [[nodiscard]] bool holds(const Entry& entry) const {
    return entry.block != kNullBlock &&
           blocks_[entry.block].times_allocated == entry.times_allocated;
  }
  [[nodiscard]] std::span<Entry> entries_of(RowIndex row) {
    return std::span(entries_).subspan(row * options_.num_groups, options_.num_groups);
  }
  [[nodiscard]] std::span<const Entry> entries_of(RowIndex row) const {
    return std::span(entries_).subspan(row * options_.num_groups, options_.num_groups);
  }
  [[nodiscard]] bool is_empty(RowIndex row) const;
  [[nodiscard]] std::size_t bucket_of(std::uint64_t hash) const;
  void link(RowIndex row);
  void make_room();
  [[nodiscard]] core::BlockId take_first();
  void drop_gaps();

  Options options_;
  /// Those that were ever handed out, and the null block: memory follows use.
  core::IndexVector<Block, core::BlockId> blocks_{1};
  /// The free list, in order: blocks that were put in front, the last one first (they hold nothing:
  /// none is ever touched there); those never handed out; those put behind. Where a block has been
  /// taken out of these stands the null block.
  std::vector<core::BlockId> in_front_;
  std::deque<core::BlockId> behind_;
  std::uint32_t first_place_ = 0;  ///< Of behind_.
  std::int64_t num_free_ = 0;
  std::int64_t num_shared_ = 0;
  std::vector<Row> rows_;       ///< The oldest first. Some may hold nothing any more.
  std::vector<Entry> entries_;  ///< Of the rows, one of each group.
  std::vector<RowIndex> buckets_ = {kNoRow, kNoRow};  ///< The youngest row of each; 2^n of them.
};

}  // namespace ridgeline::engine::vllm::plain
