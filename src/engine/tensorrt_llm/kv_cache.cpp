#include "engine/tensorrt_llm/kv_cache.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "engine/tensorrt_llm/sequence.hpp"
#include "engine/vllm/plain/block_hashes.hpp"

namespace ridgeline::engine::tensorrt_llm {

using vllm::plain::chain;

KvCache::KvCache(const KvCacheLimits& limits)
    : limits_(limits), blocks_(static_cast<std::size_t>(limits.num_blocks)) {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    push_free(static_cast<Index>(i));
  }
}

std::int64_t KvCache::blocks_to_completion(const Sequence& sequence) const {
  const auto held = static_cast<std::int64_t>(sequence.blocks.size());
  return std::max<std::int64_t>(blocks_of(sequence.most_tokens()) - held, 0);
}

std::int64_t KvCache::blocks_for_steps(const Sequence& sequence,
                                       std::int64_t steps,
                                       std::int64_t tokens_per_step) const {
  if (!sequence.holds_blocks) {
    return blocks_of(sequence.context_tokens);
  }
  if (sequence.is_context()) {
    return 0;  // It has had the blocks of its whole context from the first chunk on.
  }
  const std::int64_t now = sequence.kv_tokens;
  const std::int64_t then = std::min(now + steps * tokens_per_step, sequence.most_tokens());
  return std::max<std::int64_t>(blocks_of(then) - blocks_of(now), 0);
}

std::uint64_t KvCache::sibling_key(Content& content, std::int64_t block) const {
  return chain(key_before(content, block), content[block * limits_.tokens_per_block]);
}

void KvCache::begin_lookups() {
  if (has_lookups_ || !limits_.enable_block_reuse) {
    return;
  }
  has_lookups_ = true;
  std::vector<Index> stored;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i].tokens > 0) {
      stored.push_back(static_cast<Index>(i));
    }
  }
  std::ranges::stable_sort(stored, {}, [&](Index index) { return blocks_[index].place; });
  for (const Index index : stored) {
    Block& block = blocks_[index];
    const Index before =
        block.place > 0 ? find(key_before(*block.content, block.place)) : Index{kNone};
    if (block.place == 0 || before != kNone) {
      enter(index, before);
    } else {
      block.tokens = 0;  // A block before it was taken meanwhile.
      block.content = nullptr;
    }
  }
}

/// The full block stored under a key.
KvCache::Index KvCache::find(std::uint64_t key) const {
  const Index* const found = stored_.find(key);
  return found == nullptr ? kNone : *found;
}

bool KvCache::is_found(std::uint64_t key, std::optional<KvLook> look) const {
  const bool is_there = find(key) != kNone;
  return look && changes_ ? changes_->found(key, 0, *look, is_there) : is_there;
}

/// At least one token is left to compute.
std::int64_t KvCache::full_blocks_found(const Sequence& sequence,
                                        std::optional<KvLook> look) const {
  const std::int64_t most = (sequence.context_tokens - 1) / limits_.tokens_per_block;
  std::int64_t found = 0;
  while (has_lookups_ && found < most && is_found(key_of(sequence, found), look)) {
    ++found;
  }
  return found;
}

/// Leading tokens that a stored block shares with a context's block, but for the context's last
/// token.
std::int64_t KvCache::common_tokens(const Block& stored,
                                    const Sequence& sequence,
                                    std::int64_t block) const {
  const std::int64_t begin = block * limits_.tokens_per_block;
  const std::int64_t most = std::min(stored.tokens, sequence.context_tokens - 1 - begin);
  std::int64_t common = 0;
  while (common < most &&
         (*stored.content)[begin + common] == (*sequence.content)[begin + common]) {
    ++common;
  }
  return common;
}

bool KvCache::is_free_leaf(Index index) const {
  const Block& block = blocks_[index];
  return block.references == 0 && block.last_follower == kNone;
}

/// The stored block that begins with the most tokens of a context's block, which is not stored.
KvCache::PartialMatch KvCache::find_partial(const Sequence& sequence, std::int64_t block) const {
  PartialMatch best;
  if (!has_lookups_ || !limits_.enable_partial_reuse ||
      block * limits_.tokens_per_block >= sequence.context_tokens - 1) {
    return best;
  }
  const auto look_at = [&](Index index) {
    if (!limits_.copy_on_partial_reuse && !is_free_leaf(index)) {
      return;
    }
    const std::int64_t tokens = common_tokens(blocks_[index], sequence, block);
    if (tokens > best.tokens) {
      best = {.block = index, .tokens = tokens};
    }
  };
  const Index before = block > 0 ? find(key_before(*sequence.content, block)) : Index{kNone};
  const Index last = before == kNone ? kNone : blocks_[before].last_follower;
  if (last != kNone && blocks_[last].next_follower == kNone) {
    look_at(last);
  } else if (const auto siblings = siblings_.find(sibling_key(*sequence.content, block));
             siblings != siblings_.end()) {
    std::ranges::for_each(siblings->second, look_at);
  }
  return best;
}

std::int64_t KvCache::find_prefix(const Sequence& sequence, std::optional<KvLook> look) const {
  const std::int64_t full = full_blocks_found(sequence, look);
  return full * limits_.tokens_per_block + find_partial(sequence, full).tokens;
}

std::optional<std::uint64_t> KvCache::first_new_block(const Sequence& sequence) const {
  const std::int64_t blocks = has_lookups_ ? sequence.context_tokens / limits_.tokens_per_block : 0;
  for (std::int64_t block = 0; block < blocks; ++block) {
    if (const std::uint64_t key = key_of(sequence, block); find(key) == kNone) {
      return key;
    }
  }
  return std::nullopt;
}

std::int64_t KvCache::start(Sequence& sequence) {
  const std::int64_t full = full_blocks_found(sequence, std::nullopt);
  const PartialMatch partial = find_partial(sequence, full);
  for (std::int64_t block = 0; block < full; ++block) {
    claim(sequence, find(key_of(sequence, block)));
  }
  if (partial.tokens > 0 && is_free_leaf(partial.block)) {
    forget(partial.block);  // The request writes on in it.
    claim(sequence, partial.block);
  }
  while (std::ssize(sequence.blocks) < blocks_of(sequence.context_tokens)) {
    take_into(sequence);
  }
  sequence.kv_tokens = sequence.context_tokens;
  return full * limits_.tokens_per_block + partial.tokens;
}

std::int64_t KvCache::extend(Sequence& sequence, std::int64_t tokens, std::int64_t most) {
  std::int64_t taken = 0;
  for (; std::ssize(sequence.blocks) < blocks_of(tokens) && taken < most; ++taken) {
    take_into(sequence);
  }
  return taken;
}

void KvCache::shrink(Sequence& sequence, std::int64_t tokens) {
  while (std::ssize(sequence.blocks) > blocks_of(tokens)) {
    give_back(sequence, true);
  }
}

void KvCache::store(const Sequence& sequence, std::int64_t tokens, bool tail) {
  if (!limits_.enable_block_reuse) {
    return;
  }
  const std::int64_t size = limits_.tokens_per_block;
  const std::int64_t full = tokens / size;
  Index before = kNone;
  for (std::int64_t place = 0; place < full; ++place) {
    before = put(sequence, place, size, before);
  }
  if (tail && limits_.enable_partial_reuse && tokens % size > 0) {
    put(sequence, full, tokens % size, before);
  }
}

/// Stores a block. Among equal blocks the one stored first is found; the others are not stored.
/// Returns the one that is.
KvCache::Index KvCache::put(const Sequence& sequence,
                            std::int64_t place,
                            std::int64_t tokens,
                            Index before) {
  const Index index = sequence.blocks[static_cast<std::size_t>(place)].value();
  Block& block = blocks_[index];
  if (block.tokens > 0) {
    return index;
  }
  if (has_lookups_ && tokens == limits_.tokens_per_block) {
    if (const Index known = find(key_of(sequence, place)); known != kNone) {
      return known;
    }
  }
  block.tokens = tokens;
  block.place = place;
  block.content = sequence.content;
  if (has_lookups_) {
    enter(index, before);
  }
  return index;
}

/// What a block stores can be found from now on, behind the one before it.
void KvCache::enter(Index index, Index before) {
  Block& block = blocks_[index];
  if (block.tokens == limits_.tokens_per_block) {
    const std::uint64_t key = key_of(block);
    stored_[key] = index;
    note(key, true);
  }
  block.before = before;
  if (before == kNone) {
    add_sibling(index);
    return;
  }
  const Index last = std::exchange(blocks_[before].last_follower, index);
  block.next_follower = last;
  if (last != kNone) {
    blocks_[last].previous_follower = index;
    add_sibling(last);
    add_sibling(index);
  }
}

/// One that is not alone behind the block before it.
void KvCache::add_sibling(Index index) {
  Block& block = blocks_[index];
  if (limits_.enable_partial_reuse && !block.is_sibling) {
    siblings_[sibling_key(*block.content, block.place)].push_back(index);
    block.is_sibling = true;
  }
}

/// What a block stores is lost, and with it all that is stored behind it: so many blocks' content.
std::int64_t KvCache::forget(Index index) {
  std::int64_t count = 0;
  for (Index next = index; next != kNone;) {
    const Block& block = blocks_[next];
    if (block.last_follower != kNone) {
      next = block.last_follower;
      continue;
    }
    count += block.tokens > 0 ? 1 : 0;
    const Index before = next == index ? kNone : block.before;
    forget_one(next);
    next = before;
  }
  return count;
}

/// One that no other follows.
void KvCache::forget_one(Index index) {
  Block& block = blocks_[index];
  if (has_lookups_ && block.tokens == limits_.tokens_per_block) {
    const std::uint64_t key = key_of(block);
    stored_.erase(key);
    note(key, false);
  }
  if (block.is_sibling) {
    const auto siblings = siblings_.find(sibling_key(*block.content, block.place));
    std::erase(siblings->second, index);
    if (siblings->second.empty()) {
      siblings_.erase(siblings);
    }
    block.is_sibling = false;
  }
  if (block.before != kNone) {
    const Index next = block.next_follower;
    const Index previous = block.previous_follower;
    if (next != kNone) {
      blocks_[next].previous_follower = previous;
    }
    if (previous != kNone) {
      blocks_[previous].next_follower = next;
    } else {
      blocks_[block.before].last_follower = next;
    }
    block.before = kNone;
    block.next_follower = kNone;
    block.previous_follower = kNone;
  }
  block.tokens = 0;
  block.content = nullptr;
}

void KvCache::note(std::uint64_t key, bool came) {
  if (changes_) {
    changes_->note(key, 0, came);
  }
}

void KvCache::claim(Sequence& sequence, Index index) {
  if (blocks_[index].references++ == 0) {
    unlink_free(index);
  }
  sequence.blocks.emplace_back(index);
}

/// The free block given back first.
void KvCache::take_into(Sequence& sequence) {
  RIDGELINE_CHECK(num_free_ > 0, "a request was scheduled without free KV blocks");
  const Index index = first_free_;
  num_evicted_ += forget(index);
  claim(sequence, index);
}

void KvCache::release(Sequence& sequence) {
  while (!sequence.blocks.empty()) {
    give_back(sequence);
  }
}

/// The last block of a request.
void KvCache::give_back(Sequence& sequence, bool to_front) {
  const Index index = sequence.blocks.back().value();
  sequence.blocks.pop_back();
  if (--blocks_[index].references == 0) {
    to_front ? push_free_front(index) : push_free(index);
  }
}

void KvCache::push_free(Index index) {
  Block& block = blocks_[index];
  block.previous = last_free_;
  block.next = kNone;
  (last_free_ == kNone ? first_free_ : blocks_[last_free_].next) = index;
  last_free_ = index;
  ++num_free_;
}

void KvCache::push_free_front(Index index) {
  Block& block = blocks_[index];
  block.previous = kNone;
  block.next = first_free_;
  (first_free_ == kNone ? last_free_ : blocks_[first_free_].previous) = index;
  first_free_ = index;
  ++num_free_;
}

void KvCache::unlink_free(Index index) {
  const Block& block = blocks_[index];
  (block.previous == kNone ? first_free_ : blocks_[block.previous].next) = block.next;
  (block.next == kNone ? last_free_ : blocks_[block.next].previous) = block.previous;
  --num_free_;
}

}  // namespace ridgeline::engine::tensorrt_llm
