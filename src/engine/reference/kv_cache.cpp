#include "engine/reference/kv_cache.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"

namespace ridgeline::engine::reference {

KvCache::KvCache(const Options& options)
    : options_(options), blocks_(static_cast<std::size_t>(options.num_gpu_blocks.value())) {
  for (std::uint32_t id = 1; id < blocks_.size(); ++id) {
    const core::BlockId block(id);
    blocks_[block].free_position = free_.insert(free_.end(), block);
  }
}

std::vector<core::BlockId> KvCache::lookup(const std::vector<std::uint64_t>& hashes) const {
  std::vector<core::BlockId> found;
  for (const std::uint64_t hash : hashes) {
    const auto entry = cached_.find(hash);
    if (entry == cached_.end()) {
      break;
    }
    found.push_back(entry->second.front());
  }
  return found;
}

std::int64_t KvCache::num_unheld(const std::vector<core::BlockId>& blocks) const {
  return std::count_if(blocks.begin(), blocks.end(), [this](core::BlockId block) {
    return blocks_[block].references == 0;
  });
}

void KvCache::touch(const std::vector<core::BlockId>& blocks) {
  for (const core::BlockId id : blocks) {
    Block& block = blocks_[id];
    if (block.references == 0) {
      free_.erase(block.free_position);
    }
    ++block.references;
  }
}

core::BlockId KvCache::allocate() {
  RIDGELINE_CHECK(!free_.empty(), "allocation from an empty free list");
  const core::BlockId id = free_.front();
  free_.pop_front();
  Block& block = blocks_[id];
  if (block.hash) {
    const auto entry = cached_.find(*block.hash);
    std::erase(entry->second, id);
    if (entry->second.empty()) {
      cached_.erase(entry);
    }
    block.hash.reset();
  }
  block.references = 1;
  return id;
}

void KvCache::set_hash(core::BlockId id, std::uint64_t hash) {
  Block& block = blocks_[id];
  RIDGELINE_CHECK(!block.hash, "block hashed twice");
  block.hash = hash;
  cached_[hash].push_back(id);
}

void KvCache::release(const std::vector<core::BlockId>& blocks) {
  // With caching the deepest block goes first, so that prefixes outlive their extensions.
  std::vector<core::BlockId> unhashed;
  std::vector<core::BlockId> hashed;
  for (auto id = blocks.rbegin(); id != blocks.rend(); ++id) {
    Block& block = blocks_[*id];
    RIDGELINE_CHECK(block.references > 0, "block released twice");
    if (--block.references == 0) {
      const bool to_head = options_.free_unhashed_first && !block.hash;
      (to_head ? unhashed : hashed).push_back(*id);
    }
  }
  const auto head = free_.begin();
  for (const core::BlockId id : unhashed) {
    blocks_[id].free_position = free_.insert(head, id);
  }
  for (const core::BlockId id : hashed) {
    blocks_[id].free_position = free_.insert(free_.end(), id);
  }
}

}  // namespace ridgeline::engine::reference
