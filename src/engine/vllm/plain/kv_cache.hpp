#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "engine/kv_events.hpp"
#include "engine/kv_look.hpp"
#include "engine/vllm/plain/block_hashes.hpp"
#include "engine/vllm/plain/content.hpp"
#include "engine/vllm/plain/kv_changes.hpp"
#include "engine/vllm/plain/unsought_blocks.hpp"

namespace ridgeline::engine::vllm::plain {

/// A block that holds nothing and is never handed out: it stands where a sliding window has moved
/// on.
inline constexpr core::BlockId kNullBlock{0};

/// A cached prefix that several requests can hold. A look-up of one of its blocks always returns
/// that block: no older block can get the same content. A request that finds the whole row becomes
/// a holder of the row; its blocks are not looked up and counted one by one. The row counts as one
/// reference of each of its blocks. A row without holders is one piece of the free list, reused
/// from its deepest block on. The links between its blocks stay while it is held.
struct HeldRow {
  std::vector<core::BlockId> blocks;
  BlockHashes hashes;    ///< Hashes of these blocks, and of others behind them.
  TokenSequence tokens;  ///< What these blocks hold, and more.
  std::int64_t holders = 1;
  std::int64_t others = 0;  ///< References of its blocks beside its own.
  bool is_linked = false;   ///< Its blocks are linked, one to the next.
  bool is_sole = true;      ///< No block of it is in a row that is older.

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(blocks.size()); }
};

/// vLLM's block pool and prefix cache, written to be read: blocks with reference counts, a free
/// list in order of reuse, and a map from (hash, cache group) to the blocks that hold it, youngest
/// first. The links of both stand in the blocks, as vLLM's free queue has them: whole runs of
/// networks with windows pass through here. Blocks that were never used are one entry of the free
/// list, so that memory follows those that were.
///
/// As long as no request can find anything, all of that would be for nothing: until begin_lookups()
/// the cache keeps the order of reuse alone (UnsoughtBlocks), and nothing is found.
class KvCache {
 public:
  struct Options {
    core::Blocks num_gpu_blocks;  ///< Includes the null block.
    bool free_unhashed_first = false;
  };
  explicit KvCache(const Options& options);

  [[nodiscard]] std::int64_t num_free() const { return num_free_; }
  [[nodiscard]] std::int64_t num_usable() const { return options_.num_gpu_blocks.value() - 1; }
  [[nodiscard]] std::int64_t num_used() const { return num_usable() - num_free(); }
  /// Holders beyond the first, over all blocks.
  [[nodiscard]] std::int64_t num_shared() const { return num_shared_; }
  [[nodiscard]] std::vector<core::BlockId> free_list() const;

  [[nodiscard]] bool has_lookups() const { return has_lookups_; }
  /// From now on blocks are looked up. Call hold() for each block that a request has, and
  /// set_hash() for each that is full. `hash_of` makes the hashes of free blocks that have none
  /// yet.
  using HashOf = std::function<std::uint64_t(const FreeBlock& block)>;
  void begin_lookups(const HashOf& hash_of = {});
  void hold(core::BlockId block) { blocks_[block].references = 1; }
  /// Before begin_lookups(): a request gives back a part of its table. In order: the first block is
  /// reused first, not the deepest.
  template <class StaysFindable>
  void release_unsought(const TablePart& part, bool in_order, StaysFindable stays_findable) {
    name_promised();  // They were the first to be reused when they were promised.
    unsought_.give_back(part, in_order, options_.free_unhashed_first, stays_findable);
    num_free_ += std::ssize(part.blocks);
  }

  /// Before begin_lookups(): so many blocks are taken, whichever they are; claim() names them
  /// later.
  void promise(std::int64_t count) {
    num_free_ -= count;
    num_promised_ += count;
  }
  /// Puts so many promised blocks behind those of a table.
  void claim(std::int64_t count, std::vector<core::BlockId>& table) {
    name_promised();
    const auto first = promised_.end() - count;
    table.insert(table.end(), first, promised_.end());
    promised_.erase(first, promised_.end());
  }

  /// From now on changes are noted, so that find_at() knows what was there so long ago. Before any
  /// block is handed out.
  void keep_changes(const KvHistory& history) { changes_.emplace(history); }
  /// The sink hears of what goes from now on. BlockManager says what comes.
  void tell_kv_events(KvEventSink& sink) { events_ = &sink; }
  /// The hashes of all blocks that can be found, in no order; one of several blocks several times.
  [[nodiscard]] std::vector<std::uint64_t> cached_hashes() const;
  /// The instant of what happens next, for the notes.
  void set_now(core::SimTime now) {
    if (changes_) {
      changes_->set_now(now);
    }
  }
  /// While one is set, find() finds what was there as it says: the null block stands for it, and no
  /// row begins with that. Requires keep_changes().
  void look_back_to(std::optional<KvLook> look) { look_ = look; }

  /// The oldest block that holds this hash for this group.
  [[nodiscard]] std::optional<core::BlockId> find(std::uint64_t hash, std::size_t group = 0) const;
  /// How many of them no request holds: adopting those takes them off the free list.
  [[nodiscard]] std::int64_t num_unheld(const std::vector<core::BlockId>& blocks) const;
  /// The rows that begin with a block, the youngest last.
  [[nodiscard]] std::span<const std::shared_ptr<HeldRow>> rows_from(core::BlockId first) const;

  /// One more holder for each block but the null block.
  void touch(const std::vector<core::BlockId>& blocks);
  /// touch() for blocks that find() gave at this instant, one after the other from the first block
  /// of their group on; at least one. They are a row from now on, with one holder.
  std::shared_ptr<HeldRow> touch_row(std::vector<core::BlockId> blocks,
                                     const BlockHashes& hashes,
                                     const TokenSequence& tokens);
  /// One more holder for the blocks of a row.
  void join(HeldRow& row);
  /// One holder less; with the last one the blocks are free, the deepest first.
  void leave(const std::shared_ptr<HeldRow>& row);
  /// Takes a block from the head of the free list, forgetting what it held. Requires num_free() >
  /// 0, and look-ups.
  core::BlockId allocate();
  /// Allocates `count` blocks, put behind those of a table, look-ups or not.
  void allocate(std::int64_t count, std::vector<core::BlockId>& table);
  /// Enters a full block into the prefix cache.
  void set_hash(core::BlockId block, std::uint64_t hash, std::size_t group = 0);
  /// One holder less for each block, null blocks aside, in the order given.
  void release(const std::vector<core::BlockId>& blocks);
  /// Forgets what every block holds, and leaves the free list as it is; refused, with false, while
  /// a request holds a block.
  bool reset();

  /// How many hold a block, once there are look-ups. Looks through all rows.
  [[nodiscard]] std::int64_t references(core::BlockId block) const;

 private:
  struct Block {
    std::uint64_t hash = 0;
    HeldRow* row = nullptr;  ///< The oldest that it is in.
    std::uint32_t references = 0;
    core::BlockId next_in_bucket = kNullBlock;  ///< The cached block before it in the bucket.
    core::BlockId previous_in_bucket = kNullBlock;
    core::BlockId next_free = kNullBlock;  ///< The free list is a ring through the null block.
    core::BlockId previous_free = kNullBlock;
    std::uint16_t group = 0;
    bool is_cached = false;  ///< Can be found under its hash and group.

    [[nodiscard]] bool holds(std::uint64_t its_hash, std::size_t its_group) const {
      return hash == its_hash && group == its_group;
    }
  };

  [[nodiscard]] static bool is_free(const Block& block) {
    return block.references == 0 || (block.row != nullptr && block.row->holders == 0);
  }
  void name_promised() {
    if (num_promised_ > 0) {
      unsought_.take(std::exchange(num_promised_, 0), promised_);
    }
  }
  void set_num_buckets(std::size_t buckets);
  void grow();
  [[nodiscard]] std::size_t bucket_of(std::uint64_t hash, std::size_t group) const;
  void link_in_bucket(core::BlockId id);
  void link(core::BlockId before, core::BlockId after) {
    blocks_[before].next_free = after;
    blocks_[after].previous_free = before;
  }
  void drop_row(const HeldRow& row);
  void dissolve(HeldRow& row);
  void forget(core::BlockId id);
  [[nodiscard]] std::optional<core::BlockId> find_now(std::uint64_t hash, std::size_t group) const;
  void insert_free_after(core::BlockId where, core::BlockId id);
  void take_free(core::BlockId id);

  Options options_;
  bool has_lookups_ = false;
  UnsoughtBlocks unsought_;              ///< Until then; empty afterwards.
  std::int64_t num_promised_ = 0;        ///< Promised blocks that are still in the free list.
  std::vector<core::BlockId> promised_;  ///< Those that are not, and that none has claimed.
  /// Those that were ever used, and one more as long as there is one: it stands in the free list
  /// for itself and all behind it.
  core::IndexVector<Block, core::BlockId> blocks_;
  int bucket_shift_ = 0;  ///< Leaves as many bits of 64 as the number of a bucket has.
  std::vector<core::BlockId> buckets_;  ///< The youngest block of each; a power of two of them.
  std::int64_t num_free_ = 0;
  std::int64_t num_shared_ = 0;
  std::optional<KvChanges> changes_;
  std::optional<KvLook> look_;
  KvEventSink* events_ = nullptr;
  /// By their first block.
  std::map<core::BlockId, std::vector<std::shared_ptr<HeldRow>>> rows_;
};

}  // namespace ridgeline::engine::vllm::plain
