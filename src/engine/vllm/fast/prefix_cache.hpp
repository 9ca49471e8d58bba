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
/// one request computed. Its counts, hits and evictions are exactly those of vllm::plain::KvCache,
/// and its cost follows the number of extents, not of blocks. docs/internals/speed.md says why that
/// is possible; docs/internals/fast-engine.md explains the terms.
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
    /// Without prefix caching, the first block is freed first.
    bool frees_uncached_in_order = false;
    bool keep_ids = false;  ///< Block ids are kept.
  };

  /// Implemented by the scheduler: the number of blocks of a request that have keys by now.
  class Keyed {
   public:
    virtual ~Keyed() = default;
    [[nodiscard]] virtual std::int64_t keyed_blocks(Owner owner) const = 0;
  };

  /// Blocks [begin, end) of an extent, held by a request; begin is the extent's own.
  struct Hold {
    ExtentIndex extent = kNone;
    std::int64_t end = 0;
  };
  /// The blocks of a request: first those of `holds`, then those of its growing extent.
  struct Table {
    ChainIndex chain = kNone;
    ExtentIndex growing = kNone;  ///< The extent that grows as this request computes.
    std::int64_t keyed = 0;       ///< Blocks with keys, when last updated.
    /// Up to this block, each block is entered as an extent of its own (a single block), because
    /// another request may compute the same content.
    std::int64_t single_blocks_until = 0;
    /// No other request can look its blocks up: they are a count, and have no extent.
    bool own = false;
    std::vector<Hold> holds;
  };
  /// What identifies a request whose whole prompt is its own.
  struct OwnContent {
    core::RequestId id;
    core::LoraId lora;
    core::Tokens prompt_tokens;
  };
  /// The cached prefix of a prompt.
  struct Match {
    std::int64_t blocks = 0;
    std::int64_t free_blocks = 0;  ///< The blocks among them that are on the free list.
    bool next_is_cached = false;   ///< The first block to be computed is cached too.
    /// The extent of another request that will hold the block to be computed next.
    ExtentIndex growing_elsewhere = kNone;
    /// All that is known of the request is cached, and what it will answer too: others quoted that
    /// before it was given.
    bool answer_is_cached = false;
    std::vector<Hold> holds;

    void clear() {
      blocks = 0;
      free_blocks = 0;
      next_is_cached = false;
      growing_elsewhere = kNone;
      answer_is_cached = false;
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
  /// Sets the content of a chain just taken, before any other use of it.
  void assign(ChainIndex index, const domain::Request& request) {
    chains_[index].chain.assign(request);
    prompts_quote_requests_ = prompts_quote_requests_ || chains_[index].chain.quotes();
  }
  void assign(ChainIndex index, const Chain& chain) { chains_[index].chain = chain; }
  /// Whether some prompt has contained content of another request (an answer, in a dialogue). Until
  /// then a prompt of its own is found by no other request, and a request finds only the blocks
  /// that it left itself when it was preempted.
  [[nodiscard]] bool prompts_quote_requests() const { return prompts_quote_requests_; }
  /// A request comes that may have been here before: from now on as if a prompt had quoted one.
  void expect_quotes() { prompts_quote_requests_ = true; }
  /// Prepares the table of a request with a prompt of its own (`own`) for its first admission.
  static void begin_own_table(Table& table);
  /// The match that find() would give to a preempted request with own blocks.
  void find_left_blocks(Owner owner, std::int64_t most, Match& match) const;
  /// The blocks with keys that a preempted request left and that have not been evicted.
  [[nodiscard]] std::int64_t num_left_blocks(Owner owner) const;
  /// Takes the blocks found by find_left_blocks() at this instant off the free list, for the
  /// request that left them. Requires that Match::next_is_cached is false.
  void adopt_left_blocks(Table& table, Owner owner, const Match& match);
  /// The request does not return: its row is like the rows of ended requests.
  void abandon_left_blocks(Owner owner) {
    if (const Row row = row_of(owner); row != kNone) {
      rows_[row].deeper_or_owner = kNone;
      forget_left_blocks(owner);
    }
  }
  /// Makes an extent of a running request's own blocks, so that other requests find them.
  void make_findable(Table& table, Owner owner, const OwnContent& content);
  /// Does the same with the blocks that a preempted request left.
  void make_left_blocks_findable(Table& table, Owner owner, const OwnContent& content);
  /// Does the same with all own rows of the free list. Requests that were preempted still need
  /// make_left_blocks_findable(), for their tables.
  void make_ended_blocks_findable();

  /// Finds the longest cached prefix of `chain`: at most `most` of its `full` known blocks.
  void find(const Chain& chain, std::int64_t most, std::int64_t full, Match& match) const;
  /// Makes the request a holder of a match that find() gave at this instant.
  void adopt(Table& table, Owner owner, const Match& match);
  /// The request that grows an extent.
  [[nodiscard]] Owner owner_of(ExtentIndex extent) const {
    RIDGELINE_CHECK(extent < extents_.size() && extents_[extent].owner != kNone,
                    "prefix cache: an extent that grows has an owner");
    return extents_[extent].owner;
  }
  /// Another request is about to compute the same content: closes the table's growing extent and
  /// enters single blocks from now on, as far as the content can be shared.
  void expect_duplicates(Table& table);

  /// The number of blocks evicted so far from extents of this chain.
  [[nodiscard]] std::int64_t evicted(ChainIndex chain) const { return chains_[chain].evicted; }

  /// Takes blocks off the free list and evicts their content. Requires num_free() >= count.
  void allocate(std::int64_t count) {
    RIDGELINE_CHECK(count >= 0 && count <= num_free_, "prefix cache: blocks taken are free");
    num_free_ -= count;
    if (reasons_to_take_now_ == 0) [[likely]] {
      pending_takes_ += count;
      if (pending_takes_ >= kMostPendingTakes) [[unlikely]] {
        take_pending();
      }
    } else if (listed_) {
      take(count);
    }
  }
  /// Allocates for one request. After allocate(count), give() states whose the blocks are.
  void allocate(std::int64_t count, Owner owner) {
    allocate(count);
    if (ids_) {
      ids_->give(owner, count);
    }
  }
  /// Whether block ids are kept, so that give() is needed after allocate(count).
  [[nodiscard]] bool keeps_ids() const { return ids_ != nullptr; }
  void give(Owner owner, std::int64_t count) {
    RIDGELINE_CHECK(keeps_ids(), "prefix cache: block ids are kept");
    ids_->give(owner, count);
  }
  /// A request's blocks in order, and the free list from its head. Both require keeps_ids().
  [[nodiscard]] BlockIds::Ids ids_of(const Table& table, Owner owner) const;
  [[nodiscard]] BlockIds::Ids free_ids() const;
  /// States that the table's first `keyed` blocks are full and can be found.
  void set_keyed(Table& table, Owner owner, std::int64_t keyed);
  /// Gives back all blocks of a request that ends, or is preempted (comes_back); the first `keyed`
  /// have keys. Requires table.own.
  inline void release_own(const Table& table,
                          Owner owner,
                          std::int64_t blocks,
                          std::int64_t keyed,
                          const OwnContent& content,
                          bool comes_back);
  /// Gives back all blocks of a request; the first `keyed` have keys. The table keeps its chain.
  void release(Table& table, Owner owner, std::int64_t blocks, std::int64_t keyed);

 private:
  static constexpr std::size_t kHead = 0;  ///< The free list is a ring through row 0.
  using Row = std::uint32_t;
  /// Pending blocks are taken off the list once they are so many: about what one request needs.
  static constexpr std::int64_t kMostPendingTakes = 64;

  struct ChainState {
    Chain chain;
    std::uint32_t users = 0;
    std::int64_t evicted = 0;  ///< Blocks evicted from its extents.
  };
  struct HoldCount {
    std::int64_t end = 0;
    std::int64_t holders = 0;
  };
  struct Extent {
    std::uint64_t key = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;  ///< The end of the cached blocks; not set while the extent grows.
    ChainIndex chain = kNone;
    Owner owner = kNone;             ///< The request that grows it; kNone: it grows no more.
    ExtentIndex next_equal = kNone;  ///< The next younger extent with the same key.
    Row shallowest = kNone;          ///< The row with its free blocks nearest to its begin.
    std::vector<HoldCount> held;     ///< Ascending; without the owner's own hold.
  };
  /// A row of free blocks, which are taken from `end` down. One cache line.
  struct alignas(64) FreeRow {
    ExtentIndex extent = kNone;  ///< kNone: the blocks belong to no extent.
    Row next = 0;
    Row previous = 0;
    /// For a row of an extent: the extent's next row. For a request's own row: the preempted
    /// request that will return for it.
    std::uint32_t deeper_or_owner = kNone;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    // For a request's own row (is_own), which holds its blocks from block 0 on:
    std::int64_t keyed = 0;  ///< The number of blocks that had keys.
    core::RequestId id;
    core::Tokens prompt_tokens;
    core::LoraId lora;
    bool is_own = false;
  };
  /// From a key to the oldest extent that begins with it; hides the hash map's header.
  struct Index;

  [[nodiscard]] std::uint64_t key_of(const Chain& chain, std::int64_t block) const {
    return chain.key((block + 1) * block_size_);
  }
  void find_answer(const Chain& chain, Match& match) const;
  [[nodiscard]] std::int64_t match_end(const Chain& chain,
                                       const Extent& extent,
                                       std::int64_t limit) const;
  ExtentIndex open(Table& table, Owner owner, std::int64_t begin, std::int64_t end);
  [[nodiscard]] std::int64_t single_blocks_end(const Table& table) const;
  [[nodiscard]] static bool enters_single_blocks(const Table& table) {
    return table.single_blocks_until > table.keyed;
  }
  [[nodiscard]] bool is_on_single_block_chain(ChainIndex chain, std::int64_t block) const;
  void begin_single_blocks(Table& table, std::int64_t until);
  void end_single_blocks(const Table& table);
  void hold(ExtentIndex extent, std::int64_t end);
  void release_hold(ExtentIndex extent, std::int64_t end);
  void add_free(ExtentIndex extent, std::int64_t begin, std::int64_t end);
  void add_empty(std::int64_t count, Owner owner);
  void make_row_findable(Row row);
  void assign_own(Table& table, const OwnContent& content);
  [[nodiscard]] Row row_of(Owner owner) const {
    return owner < left_rows_.size() ? left_rows_[owner] : kNone;
  }
  [[nodiscard]] bool is_empty_row(Row row) const {
    return row != kHead && rows_[row].extent == kNone && !rows_[row].is_own;
  }
  void fill_ids(ExtentIndex extent, Owner owner, std::int64_t end);
  void take(std::int64_t count);
  void evict(std::int64_t count);
  void take_pending();
  void keep_left_blocks(Owner owner, Row row);
  void forget_left_blocks(Owner owner);
  inline Row take_row();
  [[gnu::noinline]] void add_row();
  inline void link_before(Row where, Row row);
  void unlink(Row row);
  void forget(ExtentIndex extent);

  std::int64_t block_size_;
  bool caching_;
  bool listed_;  ///< The free list is kept, not only its length.
  bool free_unhashed_first_;
  bool last_block_first_;
  std::int64_t num_usable_;
  std::int64_t num_free_;
  /// Blocks counted as taken that still stand at the head of the free list. As long as no block of
  /// the list can be looked up, and no preempted request will return to its blocks, the head of the
  /// list is updated for many takes at once.
  std::int64_t pending_takes_ = 0;
  /// The number of reasons not to do so: block ids are kept, extents exist, or requests will
  /// return.
  std::int64_t reasons_to_take_now_ = 0;
  /// The chains of requests that enter single blocks (enters_single_blocks), in no order.
  core::Buffer<ChainIndex> single_block_chains_;
  bool prompts_quote_requests_ = false;  ///< See prompts_quote_requests().
  const Keyed& keyed_;
  std::vector<ChainState> chains_;
  std::vector<ChainIndex> spare_chains_;
  std::vector<Extent> extents_;
  std::vector<ExtentIndex> spare_extents_;
  std::vector<FreeRow> rows_;
  core::Buffer<Row> spare_rows_;
  std::vector<Row> left_rows_;  ///< By owner, the row that a preempted request left; kNone: none.
  std::unique_ptr<Index> index_;
  std::unique_ptr<BlockIds> ids_;
};

// Functions that every request calls once or more; inline for speed.

inline PrefixCache::Row PrefixCache::take_row() {
  if (spare_rows_.empty()) [[unlikely]] {
    add_row();
  }
  const Row row = spare_rows_.back();
  spare_rows_.pop_back();
  return row;
}

inline void PrefixCache::link_before(Row where, Row row) {
  const Row previous = rows_[where].previous;
  RIDGELINE_CHECK(rows_[previous].next == where, "free list: neighbouring rows name each other");
  rows_[row].previous = previous;
  rows_[row].next = where;
  rows_[previous].next = row;
  rows_[where].previous = row;
}

/// The blocks without keys are the request's last ones, and so the first to be taken again: they
/// share a row with the others, unless the profile puts blocks without keys at the head.
inline void PrefixCache::release_own(const Table& table,
                                     Owner owner,
                                     std::int64_t blocks,
                                     std::int64_t keyed,
                                     const OwnContent& content,
                                     bool comes_back) {
  RIDGELINE_CHECK(table.own && caching_, "prefix cache: only a request's own blocks are a count");
  RIDGELINE_CHECK(keyed >= 0 && keyed <= blocks, "prefix cache: only blocks held have keys");
  if (free_unhashed_first_) [[unlikely]] {
    add_empty(blocks - keyed, owner);
    blocks = keyed;
  }
  if (blocks == 0) {
    return;
  }
  num_free_ += blocks;
  RIDGELINE_CHECK(num_free_ <= num_usable_, "prefix cache: free blocks are within the pool");
  const Row row = take_row();
  FreeRow& range = rows_[row];
  range.extent = kNone;
  range.is_own = true;
  range.begin = 0;
  range.end = blocks;
  range.keyed = keyed;
  range.id = content.id;
  range.lora = content.lora;
  range.prompt_tokens = content.prompt_tokens;
  range.deeper_or_owner = comes_back ? owner : kNone;
  link_before(kHead, row);
  if (comes_back) {
    keep_left_blocks(owner, row);
  }
  if (ids_) {
    ids_->put_back(owner, row, blocks, false, true);
  }
}

}  // namespace ridgeline::engine::vllm::fast
