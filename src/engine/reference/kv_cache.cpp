#include "engine/reference/kv_cache.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
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

std::optional<core::BlockId> KvCache::find(std::uint64_t hash, std::size_t group) const {
  const auto entry = cached_.find({hash, group});
  return entry == cached_.end() ? std::nullopt : std::optional(entry->second.front());
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
  if (block.key) {
    const auto entry = cached_.find(*block.key);
    std::erase(entry->second, id);
    if (entry->second.empty()) {
      cached_.erase(entry);
    }
    block.key.reset();
  }
  block.references = 1;
  return id;
}

void KvCache::set_hash(core::BlockId id, std::uint64_t hash, std::size_t group) {
  Block& block = blocks_[id];
  RIDGELINE_CHECK(!block.key, "block hashed twice");
  block.key = {hash, group};
  cached_[*block.key].push_back(id);
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
  const auto head = free_.begin();
  for (const core::BlockId id : to_head) {
    blocks_[id].free_position = free_.insert(head, id);
  }
  for (const core::BlockId id : to_tail) {
    blocks_[id].free_position = free_.insert(free_.end(), id);
  }
}

bool KvCache::reset() {
  if (num_used() > 0) {
    return false;
  }
  cached_.clear();
  for (Block& block : blocks_) {
    block.key.reset();
  }
  return true;
}

}  // namespace ridgeline::engine::reference
