#include "engine/vllm/plain/kv_cache.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "engine/vllm/plain/block_hashes.hpp"
#include "engine/vllm/plain/content.hpp"

namespace ridgeline::engine::vllm::plain {
namespace {

/// So many buckets at first, where there are as many blocks.
constexpr std::size_t kFirstBuckets = 1024;

}  // namespace

KvCache::KvCache(const Options& options)
    : options_(options), unsought_(num_usable()), num_free_(num_usable()) {}

void KvCache::begin_lookups(const HashOf& hash_of) {
  RIDGELINE_CHECK(!has_lookups_ && num_promised_ == 0 && promised_.empty(),
                  "look-ups begin once, when all blocks have names");
  has_lookups_ = true;
  const UnsoughtBlocks unsought = std::exchange(unsought_, UnsoughtBlocks(0));
  // One more stands in the free list for itself and all behind it.
  const auto blocks =
      static_cast<std::size_t>(1 + unsought.num_ever_used() + (unsought.has_unused() ? 1 : 0));
  blocks_ = core::IndexVector<Block, core::BlockId>(blocks);
  const auto all = static_cast<std::size_t>(options_.num_gpu_blocks.value());
  // At least two: a shift by all 64 bits would be none.
  set_num_buckets(std::bit_ceil(std::max(blocks, std::clamp<std::size_t>(all, 2, kFirstBuckets))));
  core::BlockId last = kNullBlock;
  const auto append = [&](core::BlockId id) {
    link(last, id);
    last = id;
  };
  std::for_each(unsought.first().rbegin(), unsought.first().rend(), append);
  if (unsought.has_unused()) {
    append(core::BlockId(static_cast<core::BlockId::Rep>(blocks - 1)));
  }
  for (std::size_t i = 0; i < unsought.queue().size(); ++i) {
    const FreeBlock& free = unsought.queue()[i];
    append(free.id);
    if (free.is_hashed) {
      set_hash(free.id, free.has_hash ? free.hash : hash_of(free), free.group);
    }
  }
  link(last, kNullBlock);
}

void KvCache::set_num_buckets(std::size_t buckets) {
  bucket_shift_ = std::countl_zero(std::uint64_t{buckets}) + 1;
  buckets_.assign(buckets, kNullBlock);
}

/// The last block of blocks_ is about to be used: the one behind it takes its place at the head of
/// the free list.
void KvCache::grow() {
  if (static_cast<std::int64_t>(blocks_.size()) > num_usable()) {
    return;
  }
  const core::BlockId id = blocks_.push_back({});
  const core::BlockId next = blocks_[kNullBlock].next_free;
  blocks_[id].next_free = next;
  blocks_[next].previous_free = id;
  blocks_[kNullBlock].next_free = id;
  if (blocks_.size() <= buckets_.size()) {
    return;
  }
  const std::vector<core::BlockId> old = std::move(buckets_);
  set_num_buckets(2 * old.size());
  for (core::BlockId oldest : old) {
    while (oldest != kNullBlock && blocks_[oldest].next_in_bucket != kNullBlock) {
      oldest = blocks_[oldest].next_in_bucket;
    }
    while (oldest != kNullBlock) {
      const core::BlockId younger = blocks_[oldest].previous_in_bucket;
      link_in_bucket(oldest);
      oldest = younger;
    }
  }
}

std::vector<core::BlockId> KvCache::free_list() const {
  if (!has_lookups_) {
    return unsought_.ids();
  }
  std::vector<core::BlockId> ids;
  for (core::BlockId id = blocks_[kNullBlock].next_free; id != kNullBlock;
       id = blocks_[id].next_free) {
    ids.push_back(id);
    if (id.value() + 1 == blocks_.size()) {
      for (auto unused = id.value() + 1; static_cast<std::int64_t>(unused) <= num_usable();
           ++unused) {
        ids.emplace_back(unused);
      }
    }
  }
  return ids;
}

void KvCache::insert_free_after(core::BlockId where, core::BlockId id) {
  const core::BlockId next = blocks_[where].next_free;
  blocks_[id].previous_free = where;
  blocks_[id].next_free = next;
  blocks_[next].previous_free = id;
  blocks_[where].next_free = id;
  ++num_free_;
}

void KvCache::take_free(core::BlockId id) {
  const Block& block = blocks_[id];
  blocks_[block.previous_free].next_free = block.next_free;
  blocks_[block.next_free].previous_free = block.previous_free;
  --num_free_;
}

/// The high bits of a product: they depend on every bit of the hash (Knuth, The Art of Computer
/// Programming, volume 3, section 6.4).
std::size_t KvCache::bucket_of(std::uint64_t hash, std::size_t group) const {
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15ULL;  // Its inverse times 2^64.
  return static_cast<std::size_t>(((hash + group) * kGoldenRatio) >> bucket_shift_);
}

std::optional<core::BlockId> KvCache::find(std::uint64_t hash, std::size_t group) const {
  if (look_) {
    const bool is_there = find_now(hash, group).has_value();
    return changes_->found(hash, group, *look_, is_there) ? std::optional(kNullBlock)
                                                          : std::nullopt;
  }
  return find_now(hash, group);
}

std::optional<core::BlockId> KvCache::find_now(std::uint64_t hash, std::size_t group) const {
  if (!has_lookups_) {
    return std::nullopt;
  }
  std::optional<core::BlockId> oldest;
  for (core::BlockId id = buckets_[bucket_of(hash, group)]; id != kNullBlock;
       id = blocks_[id].next_in_bucket) {
    if (blocks_[id].holds(hash, group)) {
      oldest = id;
    }
  }
  return oldest;
}

/// Takes a block out of the prefix cache. The null block stands for the end of every bucket.
void KvCache::forget(core::BlockId id) {
  Block& block = blocks_[id];
  core::BlockId& link = block.previous_in_bucket == kNullBlock
                            ? buckets_[bucket_of(block.hash, block.group)]
                            : blocks_[block.previous_in_bucket].next_in_bucket;
  link = block.next_in_bucket;
  blocks_[block.next_in_bucket].previous_in_bucket = block.previous_in_bucket;
  block.is_cached = false;
  if (changes_ && !find_now(block.hash, block.group)) {
    changes_->note(block.hash, block.group, false);
  }
  if (events_ != nullptr) {
    events_->on_removed(block.hash);
  }
}

std::vector<std::uint64_t> KvCache::cached_hashes() const {
  std::vector<std::uint64_t> hashes;
  for (const Block& block : blocks_) {
    if (block.is_cached) {
      hashes.push_back(block.hash);
    }
  }
  return hashes;
}

std::int64_t KvCache::num_unheld(const std::vector<core::BlockId>& blocks) const {
  return std::count_if(blocks.begin(), blocks.end(), [this](core::BlockId block) {
    return block != kNullBlock && is_free(blocks_[block]);
  });
}

void KvCache::touch(const std::vector<core::BlockId>& blocks) {
  for (const core::BlockId id : blocks) {
    if (id == kNullBlock) {
      continue;
    }
    Block& block = blocks_[id];
    if (block.references == 0) {
      take_free(id);
    } else {
      ++num_shared_;
    }
    ++block.references;
    if (block.row != nullptr) {
      ++block.row->others;
    }
  }
}

void KvCache::allocate(std::int64_t count, std::vector<core::BlockId>& table) {
  if (!has_lookups_) {
    unsought_.take(count, table);
    num_free_ -= count;
    return;
  }
  for (; count > 0; --count) {
    table.push_back(allocate());
  }
}

core::BlockId KvCache::allocate() {
  RIDGELINE_CHECK(num_free_ > 0, "allocation from an empty free list");
  const core::BlockId id = blocks_[kNullBlock].next_free;
  take_free(id);
  if (id.value() + 1 == blocks_.size()) [[unlikely]] {
    grow();
  }
  Block& block = blocks_[id];
  if (HeldRow* const row = block.row; row != nullptr) {
    // The last of a row without holders.
    block.row = nullptr;
    if (row->size() == 1) {
      drop_row(*row);
    } else {
      row->blocks.pop_back();
    }
  }
  if (block.is_cached) {
    forget(id);
  }
  block.references = 1;
  return id;
}

void KvCache::set_hash(core::BlockId id, std::uint64_t hash, std::size_t group) {
  Block& block = blocks_[id];
  RIDGELINE_CHECK(!block.is_cached, "block hashed twice");
  if (changes_ && !find_now(hash, group)) {
    changes_->note(hash, group, true);
  }
  block.hash = hash;
  block.group = static_cast<std::uint16_t>(group);
  block.is_cached = true;
  link_in_bucket(id);
}

/// As the youngest of its bucket.
void KvCache::link_in_bucket(core::BlockId id) {
  Block& block = blocks_[id];
  core::BlockId& youngest = buckets_[bucket_of(block.hash, block.group)];
  block.next_in_bucket = youngest;
  block.previous_in_bucket = kNullBlock;
  blocks_[youngest].previous_in_bucket = id;
  youngest = id;
}

std::span<const std::shared_ptr<HeldRow>> KvCache::rows_from(core::BlockId first) const {
  const auto found = rows_.find(first);
  return found == rows_.end() ? std::span<const std::shared_ptr<HeldRow>>() : found->second;
}

std::shared_ptr<HeldRow> KvCache::touch_row(std::vector<core::BlockId> blocks,
                                            const BlockHashes& hashes,
                                            const TokenSequence& tokens) {
  for (const core::BlockId id : blocks) {
    if (HeldRow* const row = blocks_[id].row; row != nullptr && row->holders == 0) {
      dissolve(*row);
    }
  }
  touch(blocks);
  auto row = std::make_shared<HeldRow>(
      HeldRow{.blocks = std::move(blocks), .hashes = hashes, .tokens = tokens});
  for (const core::BlockId id : row->blocks) {
    Block& block = blocks_[id];
    if (block.row != nullptr) {
      row->is_sole = false;
    } else {
      block.row = row.get();
      row->others += block.references - 1;
    }
  }
  rows_[row->blocks.front()].push_back(row);
  return row;
}

void KvCache::join(HeldRow& row) {
  if (row.holders++ > 0) {
    num_shared_ += row.size();
    return;
  }
  // Out of the free list in one piece.
  link(blocks_[row.blocks.back()].previous_free, blocks_[row.blocks.front()].next_free);
  num_free_ -= row.size();
}

void KvCache::leave(const std::shared_ptr<HeldRow>& row) {
  if (--row->holders > 0) {
    num_shared_ -= row->size();
    return;
  }
  if (!row->is_sole || row->others > 0) {
    // Others hold some of its blocks still.
    drop_row(*row);
    std::vector<core::BlockId> blocks(row->blocks.rbegin(), row->blocks.rend());
    release(blocks);
    return;
  }
  for (std::size_t i = row->blocks.size() - 1; i > 0 && !row->is_linked; --i) {
    link(row->blocks[i], row->blocks[i - 1]);
  }
  row->is_linked = true;
  link(blocks_[kNullBlock].previous_free, row->blocks.back());
  link(row->blocks.front(), kNullBlock);
  num_free_ += row->size();
}

/// From now on its blocks are what they would be without a row.
void KvCache::drop_row(const HeldRow& row) {
  for (const core::BlockId id : row.blocks) {
    if (blocks_[id].row == &row) {
      blocks_[id].row = nullptr;
    }
  }
  const auto all = rows_.find(row.blocks.front());
  std::erase_if(all->second, [&row](const auto& one) { return one.get() == &row; });
  if (all->second.empty()) {
    rows_.erase(all);
  }
}

/// Drops a row without holders: its blocks stay where they are in the free list.
void KvCache::dissolve(HeldRow& row) {
  for (const core::BlockId id : row.blocks) {
    blocks_[id].references = 0;
  }
  const std::vector<core::BlockId> blocks = std::move(row.blocks);
  for (const core::BlockId id : blocks) {
    blocks_[id].row = nullptr;
  }
  row.blocks = {blocks.front()};
  drop_row(row);
}

std::int64_t KvCache::references(core::BlockId block) const {
  if (block.value() >= blocks_.size()) {
    return 0;
  }
  std::int64_t count = blocks_[block].references;
  for (const auto& [first, rows] : rows_) {
    for (const auto& row : rows) {
      count += std::count(row->blocks.begin(), row->blocks.end(), block) * (row->holders - 1);
    }
  }
  return count;
}

void KvCache::release(const std::vector<core::BlockId>& blocks) {
  core::BlockId last_at_head = kNullBlock;
  for (const core::BlockId id : blocks) {
    if (id == kNullBlock) {
      continue;
    }
    Block& block = blocks_[id];
    RIDGELINE_CHECK(block.references > 0, "block released twice");
    if (block.row != nullptr) {
      --block.row->others;
    }
    if (--block.references > 0) {
      --num_shared_;
      continue;
    }
    if (options_.free_unhashed_first && !block.is_cached) {
      insert_free_after(last_at_head, id);
      last_at_head = id;
    } else {
      insert_free_after(blocks_[kNullBlock].previous_free, id);
    }
  }
}

bool KvCache::reset() {
  if (num_used() > 0) {
    return false;
  }
  unsought_.forget_hashes();
  std::fill(buckets_.begin(), buckets_.end(), kNullBlock);
  rows_.clear();
  for (Block& block : blocks_) {
    block.is_cached = false;
    block.references = 0;
    block.row = nullptr;
  }
  if (events_ != nullptr) {
    events_->on_cleared();
  }
  return true;
}

}  // namespace ridgeline::engine::vllm::plain
