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
    : options_(options),
      blocks_(static_cast<std::size_t>(options.num_gpu_blocks.value())),
      buckets_(std::bit_ceil(blocks_.size()), kNullBlock) {
  for (std::uint32_t id = 1; id < blocks_.size(); ++id) {
    insert_free_before(kNullBlock, core::BlockId(id));
  }
}

std::vector<core::BlockId> KvCache::free_list() const {
  std::vector<core::BlockId> ids;
  for (core::BlockId id = blocks_[kNullBlock].next_free; id != kNullBlock;
       id = blocks_[id].next_free) {
    ids.push_back(id);
  }
  return ids;
}

void KvCache::insert_free_before(core::BlockId where, core::BlockId id) {
  const core::BlockId previous = blocks_[where].previous_free;
  blocks_[id].previous_free = previous;
  blocks_[id].next_free = where;
  blocks_[previous].next_free = id;
  blocks_[where].previous_free = id;
  ++num_free_;
}

void KvCache::take_free(core::BlockId id) {
  const Block& block = blocks_[id];
  blocks_[block.previous_free].next_free = block.next_free;
  blocks_[block.next_free].previous_free = block.previous_free;
  --num_free_;
}

/// Hashes are mixed already: their lowest bits do.
std::size_t KvCache::bucket_of(const Key& key) const {
  return static_cast<std::size_t>(key.first + key.second) & (buckets_.size() - 1);
}

std::optional<core::BlockId> KvCache::find(std::uint64_t hash, std::size_t group) const {
  const Key key(hash, group);
  core::BlockId id = buckets_[bucket_of(key)];
  while (id != kNullBlock && blocks_[id].key != key) {
    id = blocks_[id].next_in_bucket;
  }
  return id == kNullBlock ? std::nullopt : std::optional(id);
}

/// Takes a block out of the prefix cache.
void KvCache::forget(core::BlockId id) {
  Block& block = blocks_[id];
  core::BlockId* link = &buckets_[bucket_of(*block.key)];
  while (*link != id) {
    link = &blocks_[*link].next_in_bucket;
  }
  *link = block.next_in_bucket;
  block.key.reset();
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
    }
    ++block.references;
  }
}

core::BlockId KvCache::allocate() {
  RIDGELINE_CHECK(num_free_ > 0, "allocation from an empty free list");
  const core::BlockId id = blocks_[kNullBlock].next_free;
  take_free(id);
  Block& block = blocks_[id];
  if (block.key) {
    forget(id);
  }
  block.references = 1;
  return id;
}

void KvCache::set_hash(core::BlockId id, std::uint64_t hash, std::size_t group) {
  Block& block = blocks_[id];
  RIDGELINE_CHECK(!block.key, "block hashed twice");
  block.key = {hash, group};
  block.next_in_bucket = kNullBlock;
  core::BlockId* link = &buckets_[bucket_of(*block.key)];
  while (*link != kNullBlock) {
    link = &blocks_[*link].next_in_bucket;
  }
  *link = id;
}

void KvCache::release(const std::vector<core::BlockId>& blocks) {
  std::vector<core::BlockId> to_head;
  std::vector<core::BlockId> to_tail;
  for (const core::BlockId id : blocks) {
    if (id == kNullBlock) {
      continue;
    }
    Block& block = blocks_[id];
    RIDGELINE_CHECK(block.references > 0, "block released twice");
    if (--block.references == 0) {
      const bool first = options_.free_unhashed_first && !block.key;
      (first ? to_head : to_tail).push_back(id);
    }
  }
  const core::BlockId head = blocks_[kNullBlock].next_free;
  for (const core::BlockId id : to_head) {
    insert_free_before(head, id);
  }
  for (const core::BlockId id : to_tail) {
    insert_free_before(kNullBlock, id);
  }
}

bool KvCache::reset() {
  if (num_used() > 0) {
    return false;
  }
  std::fill(buckets_.begin(), buckets_.end(), kNullBlock);
  for (Block& block : blocks_) {
    block.key.reset();
  }
  return true;
}

}  // namespace ridgeline::engine::reference
