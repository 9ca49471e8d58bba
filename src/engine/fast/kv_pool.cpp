#include "engine/fast/kv_pool.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <tsl/robin_map.h>

#include "core/check.hpp"

namespace ridgeline::engine::fast {
namespace {

/// Keys are mixed already.
struct KeyHash {
  std::size_t operator()(std::uint64_t key) const { return key; }
};

}  // namespace

struct KvPool::Index {
  tsl::robin_map<std::uint64_t, Block, KeyHash> oldest;
};

KvPool::KvPool(const Options& options)
    : free_unhashed_first_(options.free_unhashed_first),
      blocks_(static_cast<std::size_t>(options.num_gpu_blocks.value())),
      index_(std::make_unique<Index>()) {
  if (options.enable_prefix_caching) {
    index_->oldest.reserve(blocks_.size());
  }
  for (Block block = 1; block < blocks_.size(); ++block) {
    link_after(blocks_[0].previous, block);
  }
}

KvPool::~KvPool() = default;

void KvPool::unlink(Block block) {
  const State& state = blocks_[block];
  blocks_[state.previous].next = state.next;
  blocks_[state.next].previous = state.previous;
  --num_free_;
}

void KvPool::link_after(Block where, Block block) {
  const Block next = blocks_[where].next;
  blocks_[block].previous = where;
  blocks_[block].next = next;
  blocks_[where].next = block;
  blocks_[next].previous = block;
  ++num_free_;
}

KvPool::Block KvPool::find(std::uint64_t key) const {
  const auto entry = index_->oldest.find(key);
  return entry == index_->oldest.end() ? kNone : entry->second;
}

void KvPool::touch(Block block) {
  if (blocks_[block].references == 0) {
    unlink(block);
  }
  ++blocks_[block].references;
}

KvPool::Block KvPool::allocate() {
  const Block block = blocks_[0].next;
  RIDGELINE_CHECK(block != kNone, "allocation from an empty free list");
  unlink(block);
  if (blocks_[block].key != 0) {
    forget_key(block);
  }
  blocks_[block].references = 1;
  return block;
}

void KvPool::set_key(Block block, std::uint64_t key) {
  RIDGELINE_DCHECK(blocks_[block].key == 0, "block keyed twice");
  blocks_[block].key = key;
  const auto [entry, inserted] = index_->oldest.insert({key, block});
  if (!inserted) {
    Block last = entry->second;
    while (blocks_[last].next_equal != kNone) {
      last = blocks_[last].next_equal;
    }
    blocks_[last].next_equal = block;
  }
}

void KvPool::forget_key(Block block) {
  State& state = blocks_[block];
  const auto entry = index_->oldest.find(state.key);
  if (entry->second == block) {
    if (state.next_equal == kNone) {
      index_->oldest.erase(entry);
    } else {
      entry.value() = state.next_equal;
    }
  } else {
    Block before = entry->second;
    while (blocks_[before].next_equal != block) {
      before = blocks_[before].next_equal;
    }
    blocks_[before].next_equal = state.next_equal;
  }
  state.key = 0;
  state.next_equal = kNone;
}

void KvPool::release(std::span<const Block> blocks) {
  Block head = kNone;  // Unhashed blocks keep their order in front of the list.
  for (std::size_t i = blocks.size(); i-- > 0;) {
    const Block block = blocks[i];
    RIDGELINE_DCHECK(blocks_[block].references > 0, "block released twice");
    if (--blocks_[block].references > 0) {
      continue;
    }
    if (free_unhashed_first_ && blocks_[block].key == 0) {
      link_after(head, block);
      head = block;
    } else {
      link_after(blocks_[0].previous, block);
    }
  }
}

}  // namespace ridgeline::engine::fast
