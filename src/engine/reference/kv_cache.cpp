#include "engine/reference/kv_cache.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"

namespace ridgeline::engine::reference {

KvCache::KvCache(const Options& options)
    : options_(options), blocks_(static_cast<std::size_t>(options.num_gpu_blocks.value())) {
  // At least two buckets: a shift by all 64 bits would be none.
  const std::size_t buckets = std::bit_ceil(std::max<std::size_t>(blocks_.size(), 2));
  bucket_shift_ = std::countl_zero(buckets) + 1;
  buckets_.assign(buckets, kNullBlock);
  core::BlockId last = kNullBlock;
  for (std::uint32_t id = 1; id < blocks_.size(); ++id) {
    blocks_[last].next_free = core::BlockId(id);
    blocks_[core::BlockId(id)].previous_free = last;
    last = core::BlockId(id);
  }
  blocks_[last].next_free = kNullBlock;
  blocks_[kNullBlock].previous_free = last;
  num_free_ = num_usable();
}

std::vector<core::BlockId> KvCache::free_list() const {
  std::vector<core::BlockId> ids;
  for (core::BlockId id = blocks_[kNullBlock].next_free; id != kNullBlock;
       id = blocks_[id].next_free) {
    ids.push_back(id);
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
      take_free(id);
    } else {
      ++num_shared_;
    }
    ++block.references;
  }
}

core::BlockId KvCache::allocate() {
  RIDGELINE_CHECK(num_free_ > 0, "allocation from an empty free list");
  const core::BlockId id = blocks_[kNullBlock].next_free;
  take_free(id);
  Block& block = blocks_[id];
  if (block.is_cached) {
    forget(id);
  }
  block.references = 1;
  return id;
}

void KvCache::set_hash(core::BlockId id, std::uint64_t hash, std::size_t group) {
  Block& block = blocks_[id];
  RIDGELINE_CHECK(!block.is_cached, "block hashed twice");
  block.hash = hash;
  block.group = static_cast<std::uint16_t>(group);
  block.is_cached = true;
  core::BlockId& youngest = buckets_[bucket_of(hash, group)];
  block.next_in_bucket = youngest;
  block.previous_in_bucket = kNullBlock;
  blocks_[youngest].previous_in_bucket = id;
  youngest = id;
}

void KvCache::release(const std::vector<core::BlockId>& blocks) {
  core::BlockId last_at_head = kNullBlock;
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
  std::fill(buckets_.begin(), buckets_.end(), kNullBlock);
  for (Block& block : blocks_) {
    block.is_cached = false;
  }
  return true;
}

}  // namespace ridgeline::engine::reference
