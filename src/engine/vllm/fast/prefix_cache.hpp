#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "core/buffer.hpp"
#include "core/check.hpp"
#include "core/units.hpp"
#include "domain/chain.hpp"
#include "domain/request.hpp"
#include "engine/vllm/fast/block_ids.hpp"

namespace ridgeline::engine::vllm::fast {

using domain::Chain;

/// The block pool and prefix cache of the fast twin, by extents: rows of consecutive blocks that
/// one request computed. It counts, hits and evicts exactly what vllm::plain::KvCache does, and its
/// cost follows the extents, not the blocks. docs/internals/speed.md says why that is possible.
class PrefixCache {
 public:
  using ChainIndex = std::uint32_t;
  using ExtentIndex = std::uint32_t;
  using Owner = std::uint32_t;
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

  struct Options {
    core::Blocks num_gpu_blocks;
    core::Tokens block_size;
    bool enable_prefix_caching = true;
    bool free_unhashed_first = false;
    bool frees_uncached_in_order = false;  ///< Without prefix caching, first block first.
    bool keep_ids = false;                 ///< Block ids are asked for.
  };

  /// Whoever owns growing extents says how many blocks of a request have keys by now.
  class Keyed {
   public:
    virtual ~Keyed() = default;
    [[nodiscard]] virtual std::int64_t keyed_blocks(Owner owner) const = 0;
  };

  /// Blocks [begin, end) of an extent, held by a request: begin is where the extent begins.
  struct Hold {
    ExtentIndex extent = kNone;
    std::int64_t end = 0;
  };
  /// What a request holds: its blocks in order are those of `holds`, then those keyed since.
  struct Table {
    ChainIndex chain = kNone;
    ExtentIndex growing = kNone;  ///< Its own extent, which grows with it.
    std::int64_t keyed = 0;       ///< Blocks with keys, when last brought up to date.
    /// Up to here blocks are entered one by one, because others may hold the same content.
    std::int64_t single_until = 0;
    bool own = false;  ///< Nobody else looks for its blocks: they are counted, and have no extent.
    std::vector<Hold> holds;
  };
  /// A request whose whole prompt is its own.
  struct OwnContent {
    core::RequestId id;
    core::LoraId lora;
    core::Tokens prompt_tokens;
  };
  /// The cached prefix of a prompt.
  struct Match {
    std::int64_t blocks = 0;
    std::int64_t unheld = 0;        ///< Of those, on the free list.
    bool next_is_cached = false;    ///< The first block to be computed is there as well.
    ExtentIndex overtaken = kNone;  ///< A growing extent that will hold what is computed next.
    std::vector<Hold> holds;

    void clear() {
      blocks = 0;
      unheld = 0;
      next_is_cached = false;
      overtaken = kNone;
      holds.clear();
    }
  };

  PrefixCache(const Options& options, const Keyed& keyed);
  ~PrefixCache();
  PrefixCache(const PrefixCache&) = delete;
  PrefixCache& operator=(const PrefixCache&) = delete;

  [[nodiscard]] std::int64_t num_free() const { return num_free_; }
  [[nodiscard]] std::int64_t num_usable() const { return num_usable_; }
  [[nodiscard]] std::int64_t num_used() const { return num_usable_ - num_free_; }

  ChainIndex take_chain();
  void drop_chain(ChainIndex chain);
  [[nodiscard]] const Chain& chain(ChainIndex index) const {
    RIDGELINE_CHECK(index < chains_.size(), "prefix cache: a chain that was taken");
    return chains_[index].chain;
  }
  /// Before anything else happens with the chain.
  void assign(ChainIndex index, const domain::Request& request) {
    chains_[index].chain.assign(request);
    quotes_ = quotes_ || chains_[index].chain.quotes();
  }
  void assign(ChainIndex index, const Chain& chain) { chains_[index].chain = chain; }
  /// Whether some prompt has stated what belongs to another request. Until then a request whose
  /// prompt is its own is found by nobody, and finds no more than what it has left itself, when it
  /// was preempted.
  [[nodiscard]] bool quotes() const { return quotes_; }
  /// The table of such a request at its first admission.
  static void adopt_own(Table& table);
  /// What find() would tell of one that was preempted.
  void find_own(Owner owner, std::int64_t most, Match& match) const;
  /// How many blocks with keys it has left that were not evicted.
  [[nodiscard]] std::int64_t num_left(Owner owner) const;
  /// Takes hold of what find_own() gave at this instant, if that is all there is: not
  /// Match::next_is_cached.
  void adopt_left(Table& table, Owner owner, const Match& match);
  /// It does not come back: what it has left is like that of others that have ended.
  void disown(Owner owner) {
    if (const Item item = item_of(owner); item != kNone) {
      items_[item].deeper_or_owner = kNone;
      forget_left(owner);
    }
  }
  /// The blocks of a running request like it can be found from now on.
  void publish(Table& table, Owner owner, const OwnContent& content);
  /// What a preempted one has left can.
  void publish_left(Table& table, Owner owner, const OwnContent& content);
  /// What those that have ended or wait have left can; publish_left() is still due for who waits.
  void publish_ended();

  /// Finds the longest cached prefix of `chain` within `most` of its `full` known blocks.
  void find(const Chain& chain, std::int64_t most, std::int64_t full, Match& match) const;
  /// Takes hold of a match, which find() gave at this instant.
  void adopt(Table& table, Owner owner, const Match& match);
  /// The owner of an extent whose content another request is about to compute as well.
  [[nodiscard]] Owner owner_of(ExtentIndex extent) const {
    RIDGELINE_CHECK(extent < extents_.size() && extents_[extent].owner != kNone,
                    "prefix cache: an extent that grows has an owner");
    return extents_[extent].owner;
  }
  /// From now on the table's blocks are entered one by one, as long as that request's content goes
  /// on.
  void expect_duplicates(Table& table);

  /// How many blocks that requests of this chain had computed were evicted, ever.
  [[nodiscard]] std::int64_t evicted(ChainIndex chain) const { return chains_[chain].evicted; }

  /// Takes blocks off the free list, forgetting what they held. Requires num_free() >= count.
  void allocate(std::int64_t count) {
    RIDGELINE_CHECK(count >= 0 && count <= num_free_, "prefix cache: blocks taken are free");
    num_free_ -= count;
    if (reasons_to_take_now_ == 0) [[likely]] {
      owed_ += count;
      if (owed_ >= kMostOwed) [[unlikely]] {
        take_owed();
      }
    } else if (listed_) {
      take(count);
    }
  }
  /// The same, for one request; allocate() leaves that to give().
  void allocate(std::int64_t count, Owner owner) {
    allocate(count);
    if (ids_) {
      ids_->give(owner, count);
    }
  }
  /// Whether block ids are kept, so that give() has to say whose allocated blocks are.
  [[nodiscard]] bool keeps_ids() const { return ids_ != nullptr; }
  void give(Owner owner, std::int64_t count) {
    RIDGELINE_CHECK(keeps_ids(), "prefix cache: block ids are kept");
    ids_->give(owner, count);
  }
  /// A request's blocks in order, and the free list from its head. Require keeps_ids().
  [[nodiscard]] BlockIds::Ids ids_of(const Table& table, Owner owner) const;
  [[nodiscard]] BlockIds::Ids free_ids() const;
  /// The table's first `keyed` blocks are full and can be found.
  void set_keyed(Table& table, Owner owner, std::int64_t keyed);
  /// Gives back all blocks of a request that ends or comes back, of which `keyed` have keys.
  /// Requires table.own.
  inline void release_own(const Table& table,
                          Owner owner,
                          std::int64_t blocks,
                          std::int64_t keyed,
                          const OwnContent& content,
                          bool comes_back);
  /// Gives back all blocks of a request, of which `keyed` have keys; the table keeps its chain.
  void release(Table& table, Owner owner, std::int64_t blocks, std::int64_t keyed);

 private:
  static constexpr std::size_t kHead = 0;  ///< The free list is a ring through item 0.
  using Item = std::uint32_t;
  /// Blocks that are taken off the list together: what some thirty requests need.
  static constexpr std::int64_t kMostOwed = 1024;

  struct ChainState {
    Chain chain;
    std::uint32_t users = 0;
    std::int64_t evicted = 0;  ///< Blocks of its extents.
  };
  struct HoldCount {
    std::int64_t end = 0;
    std::int64_t holders = 0;
  };
  struct Extent {
    std::uint64_t key = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;  ///< Of what is cached; not for growing extents.
    ChainIndex chain = kNone;
    Owner owner = kNone;             ///< Who lets it grow.
    ExtentIndex next_equal = kNone;  ///< A younger one with the same key.
    Item shallowest = kNone;         ///< Its part of the free list nearest to its begin.
    std::vector<HoldCount> held;     ///< Ascending; without the owner's own.
  };
  /// A row of free blocks, popped from `end` down. One cache line.
  struct alignas(64) FreeRange {
    ExtentIndex extent = kNone;  ///< kNone: blocks that hold nothing.
    Item next = 0;
    Item previous = 0;
    /// Of an extent: its next row. Of a request's own blocks: who comes back for them.
    std::uint32_t deeper_or_owner = kNone;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    // Of blocks 0 .. of a request that nobody else looks for:
    std::int64_t keyed = 0;  ///< How many of them had keys.
    core::RequestId id;
    core::Tokens prompt_tokens;
    core::LoraId lora;
    bool is_own = false;
  };
  struct Index;  ///< Key to the oldest extent that begins with it; hides the hash map's header.

  [[nodiscard]] std::uint64_t key_of(const Chain& chain, std::int64_t block) const {
    return chain.key((block + 1) * block_size_);
  }
  [[nodiscard]] std::int64_t match_end(const Chain& chain,
                                       const Extent& extent,
                                       std::int64_t limit) const;
  ExtentIndex open(Table& table, Owner owner, std::int64_t begin, std::int64_t end);
  [[nodiscard]] std::int64_t singles_end(const Table& table) const;
  [[nodiscard]] static bool is_eager(const Table& table) {
    return table.single_until > table.keyed;
  }
  [[nodiscard]] bool agrees_with_eager(ChainIndex chain, std::int64_t block) const;
  void begin_singles(Table& table, std::int64_t until);
  void end_singles(const Table& table);
  void hold(ExtentIndex extent, std::int64_t end);
  void unhold(ExtentIndex extent, std::int64_t end);
  void add_free(ExtentIndex extent, std::int64_t begin, std::int64_t end);
  void add_plain(std::int64_t count, Owner owner);
  void publish_item(Item item);
  void assign_own(Table& table, const OwnContent& content);
  [[nodiscard]] Item item_of(Owner owner) const {
    return owner < left_.size() ? left_[owner] : kNone;
  }
  [[nodiscard]] bool is_plain(Item item) const {
    return item != kHead && items_[item].extent == kNone && !items_[item].is_own;
  }
  void fill_ids(ExtentIndex extent, Owner owner, std::int64_t end);
  void take(std::int64_t count);
  void evict(std::int64_t count);
  void take_owed();
  void expect_back(Owner owner, Item item);
  void forget_left(Owner owner);
  inline Item take_item();
  [[gnu::noinline]] void add_item();
  inline void link_before(Item where, Item item);
  void unlink(Item item);
  void forget(ExtentIndex extent);

  std::int64_t block_size_;
  bool caching_;
  bool listed_;  ///< The free list is kept, not only its length.
  bool free_unhashed_first_;
  bool last_block_first_;
  std::int64_t num_usable_;
  std::int64_t num_free_;
  /// While nobody can look for what stands in the free list, and nobody comes back for it, blocks
  /// are only counted when they are taken, and taken off the head of the list many at a time.
  std::int64_t owed_ = 0;
  /// Otherwise: block ids are kept, there have been extents, or requests come back for theirs.
  std::int64_t reasons_to_take_now_ = 0;
  /// Of requests whose next blocks are entered one by one (is_eager), in no order.
  core::Buffer<ChainIndex> eager_;
  bool quotes_ = false;  ///< Some prompt states what belongs to another request.
  const Keyed& keyed_;
  std::vector<ChainState> chains_;
  std::vector<ChainIndex> spare_chains_;
  std::vector<Extent> extents_;
  std::vector<ExtentIndex> spare_extents_;
  std::vector<FreeRange> items_;
  core::Buffer<Item> spare_items_;
  std::vector<Item> left_;  ///< By owner, what it has left and comes back for; kNone: nothing.
  std::unique_ptr<Index> index_;
  std::unique_ptr<BlockIds> ids_;
};

// What every request runs through once.

inline PrefixCache::Item PrefixCache::take_item() {
  if (spare_items_.empty()) [[unlikely]] {
    add_item();
  }
  const Item item = spare_items_.back();
  spare_items_.pop_back();
  RIDGELINE_CHECK(item != kHead && item < items_.size(), "free list: a spare row is a row");
  return item;
}

inline void PrefixCache::link_before(Item where, Item item) {
  const Item previous = items_[where].previous;
  RIDGELINE_CHECK(items_[previous].next == where, "free list: neighbouring rows name each other");
  items_[item].previous = previous;
  items_[item].next = where;
  items_[previous].next = item;
  items_[where].previous = item;
}

/// Blocks without keys are the last of a request and so the first of its to be taken again: they
/// need no item of their own, unless all such blocks go to the head.
inline void PrefixCache::release_own(const Table& table,
                                     Owner owner,
                                     std::int64_t blocks,
                                     std::int64_t keyed,
                                     const OwnContent& content,
                                     bool comes_back) {
  RIDGELINE_CHECK(table.own && caching_, "prefix cache: only a request's own blocks are a count");
  RIDGELINE_CHECK(keyed >= 0 && keyed <= blocks, "prefix cache: only blocks held have keys");
  if (free_unhashed_first_) [[unlikely]] {
    add_plain(blocks - keyed, owner);
    blocks = keyed;
  }
  if (blocks == 0) {
    return;
  }
  num_free_ += blocks;
  RIDGELINE_CHECK(num_free_ <= num_usable_, "prefix cache: free blocks are within the pool");
  const Item item = take_item();
  FreeRange& range = items_[item];
  range.extent = kNone;
  range.is_own = true;
  range.begin = 0;
  range.end = blocks;
  range.keyed = keyed;
  range.id = content.id;
  range.lora = content.lora;
  range.prompt_tokens = content.prompt_tokens;
  range.deeper_or_owner = comes_back ? owner : kNone;
  link_before(kHead, item);
  if (comes_back) {
    expect_back(owner, item);
  }
  if (ids_) {
    ids_->put_back(owner, item, blocks, false, true);
  }
}

}  // namespace ridgeline::engine::vllm::fast
