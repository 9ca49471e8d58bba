#include "engine/vllm/plain/kv_cache.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"

namespace ridgeline::engine::vllm::plain {
std::vector<core::BlockId> KvCache::free_list() const {
  std::vector<core::BlockId> ids;
  ids.insert(ids.end(), in_front_.rbegin(), in_front_.rend());
  for (auto unused = static_cast<std::int64_t>(blocks_.size()); unused <= num_usable(); ++unused) {
    ids.emplace_back(static_cast<std::uint32_t>(unused));
  }
  std::ranges::remove_copy(behind_, std::back_inserter(ids), kNullBlock);
  return ids;
}

std::int64_t KvCache::references(core::BlockId block) const {
  return block.value() < blocks_.size() ? blocks_[block].references : 0;
}

/// The high bits of a product: they depend on every bit of the hash (Knuth, The Art of Computer
/// Programming, volume 3, section 6.4).
std::size_t KvCache::bucket_of(std::uint64_t hash) const {
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15ULL;  // Its inverse times 2^64.
  return static_cast<std::size_t>((hash * kGoldenRatio) >> (std::countl_zero(buckets_.size()) + 1));
}

std::optional<core::BlockId> KvCache::find(std::uint64_t hash, std::size_t group) {
  std::optional<core::BlockId> oldest;
  RowIndex* next = &buckets_[bucket_of(hash)];
  while (*next != kNoRow) {
    Row& row = rows_[*next];
    if (row.hash == hash && is_empty(*next)) {
      *next = row.older;
      continue;
    }
    if (const Entry& entry = entries_of(*next)[group]; row.hash == hash && holds(entry)) {
      oldest = entry.block;
    }
    next = &row.older;
  }
  return oldest;
}

std::int64_t KvCache::num_unheld(const std::vector<core::BlockId>& blocks) const {
  return std::count_if(blocks.begin(), blocks.end(), [this](core::BlockId block) {
    return block != kNullBlock && blocks_[block].references == 0;
  });
}

void KvCache::touch(const std::vector<core::BlockId>& blocks) {
  for (const core::BlockId id : blocks) {
    if (id == kNullBlock) {
      continue;
    }
    Block& block = blocks_[id];
    if (block.references == 0) {
      behind_[block.place - first_place_] = kNullBlock;
      --num_free_;
    } else {
      ++num_shared_;
    }
    ++block.references;
  }
}

core::BlockId KvCache::take_first() {
  if (!in_front_.empty()) {
    const core::BlockId first = in_front_.back();
    in_front_.pop_back();
    return first;
  }
  if (static_cast<std::int64_t>(blocks_.size()) <= num_usable()) {
    return blocks_.push_back({});
  }
  core::BlockId first = kNullBlock;
  while (first == kNullBlock && !behind_.empty()) {
    first = behind_.front();
    behind_.pop_front();
    ++first_place_;
  }
  RIDGELINE_CHECK(first != kNullBlock, "allocation from an empty free list");
  return first;
}

core::BlockId KvCache::allocate() {
  const core::BlockId id = take_first();
  Block& block = blocks_[id];
  block.references = 1;
  block.is_cached = false;
  ++block.times_allocated;
  --num_free_;
  return id;
}

bool KvCache::is_empty(RowIndex row) const {
  return std::ranges::none_of(entries_of(row), [this](const Entry& entry) { return holds(entry); });
}

void KvCache::enter(std::uint64_t hash, const std::vector<core::BlockId>& by_group) {
  const auto row = static_cast<RowIndex>(rows_.size());
  rows_.push_back({.hash = hash});
  for (const core::BlockId id : by_group) {
    Block& block = blocks_[id];
    RIDGELINE_CHECK(id == kNullBlock || !block.is_cached, "block entered twice");
    block.is_cached = true;
    entries_.push_back({.block = id, .times_allocated = block.times_allocated});
  }
  link(row);
  if (rows_.size() > buckets_.size()) {
    make_room();
  }
}

/// A row becomes the youngest of its bucket.
void KvCache::link(RowIndex row) {
  RowIndex& youngest = buckets_[bucket_of(rows_[row].hash)];
  rows_[row].older = youngest;
  youngest = row;
}

/// Drops empty rows; where that leaves more than a quarter as many as buckets, there are twice as
/// many from then on. So a row costs few looks at others, whatever the number of blocks.
void KvCache::make_room() {
  RowIndex kept = 0;
  for (RowIndex row = 0; row < rows_.size(); ++row) {
    if (!is_empty(row)) {
      rows_[kept].hash = rows_[row].hash;
      std::ranges::copy(entries_of(row), entries_of(kept).begin());
      ++kept;
    }
  }
  rows_.resize(kept);
  entries_.resize(kept * options_.num_groups);
  buckets_.assign(kept > buckets_.size() / 4 ? 2 * buckets_.size() : buckets_.size(), kNoRow);
  for (RowIndex row = 0; row < kept; ++row) {
    link(row);
  }
}

void KvCache::release(const std::vector<core::BlockId>& blocks) {
  const std::ptrdiff_t others_in_front = std::ssize(in_front_);
  for (const core::BlockId id : blocks) {
    if (id == kNullBlock) {
      continue;
    }
    Block& block = blocks_[id];
    RIDGELINE_CHECK(block.references > 0, "block released twice");
    if (--block.references > 0) {
      --num_shared_;
      continue;
    }
    ++num_free_;
    if (options_.free_unhashed_first && !block.is_cached) {
      in_front_.push_back(id);
    } else {
      block.place = first_place_ + static_cast<std::uint32_t>(behind_.size());
      behind_.push_back(id);
    }
  }
  // Those put in front are taken in the order given.
  std::reverse(in_front_.begin() + others_in_front, in_front_.end());
  if (behind_.size() > 2 * blocks_.size()) {
    drop_gaps();
  }
}

/// Forgets where blocks have been taken out: the list takes no memory without end.
void KvCache::drop_gaps() {
  std::erase(behind_, kNullBlock);
  std::uint32_t place = first_place_;
  for (const core::BlockId block : behind_) {
    blocks_[block].place = place++;
  }
}

bool KvCache::reset() {
  if (num_used() > 0) {
    return false;
  }
  std::ranges::fill(buckets_, kNoRow);
  rows_.clear();
  entries_.clear();
  for (Block& block : blocks_) {
    block.is_cached = false;
  }
  return true;
}

}  // namespace ridgeline::engine::vllm::plain
