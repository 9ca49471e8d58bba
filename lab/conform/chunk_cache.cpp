#include "lab/conform/chunk_cache.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "cluster/store/eviction.hpp"
#include "core/check.hpp"

namespace ridgeline::conform {

ChunkCache::Found ChunkCache::look_up(BlockKey key) {
  if (rules_.store_threshold > 1 && !rules_.counts_offers) {
    ++counts_[key];
  }
  const auto chunk = chunks_.find(key);
  if (chunk == chunks_.end()) {
    return Found::kNo;
  }
  return chunk->second.readers < 0 ? Found::kBeingWritten : Found::kWritten;
}

std::vector<std::int64_t> ChunkCache::begin_read(std::span<const BlockKey> keys, ChunkUses& uses) {
  std::vector<std::int64_t> places;
  for (const BlockKey key : keys) {
    Chunk& chunk = chunks_.at(key);
    RIDGELINE_CHECK(chunk.readers >= 0, "a chunk that is read was written");
    if (chunk.readers++ == 0) {
      order_->set_idle(key, false);
      --num_idle_;
    }
    places.push_back(chunk.place);
  }
  if (rules_.follows_requests) {
    use(keys, uses);
    std::ranges::copy_if(keys, std::inserter(uses.reused, uses.reused.end()), [&](BlockKey key) {
      return !uses.inserted.contains(key);
    });
  }
  return places;
}

/// The chunks of a transfer in the order in which they become idle.
std::vector<BlockKey> ChunkCache::as_set(std::span<const BlockKey> keys) const {
  // Odd multiples of 2^64 / golden ratio scatter keys, each in another way.
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
  std::vector<BlockKey> ordered(keys.begin(), keys.end());
  if (!rules_.follows_requests) {
    const std::uint64_t factor = kGolden * (2 * rules_.set_order + 1);
    std::ranges::sort(ordered, {}, [&](BlockKey key) { return (key ^ (key >> 32)) * factor; });
  }
  return ordered;
}

void ChunkCache::end_read(std::span<const BlockKey> keys) {
  for (const BlockKey key : as_set(keys)) {
    if (--chunks_.at(key).readers == 0) {
      order_->set_idle(key, true);
      ++num_idle_;
    }
  }
}

/// Chunks that a request uses for the first time.
void ChunkCache::use(std::span<const BlockKey> keys, ChunkUses& uses) {
  std::vector<BlockKey> fresh;
  std::ranges::copy_if(
      keys, std::back_inserter(fresh), [&](BlockKey key) { return uses.known.insert(key).second; });
  uses.seen.insert(uses.seen.end(), fresh.begin(), fresh.end());
  if (rules_.ranks_running && !fresh.empty()) {
    order_->use(fresh, uses);
  }
}

/// Makes room for so many chunks; none of those offered gives way.
bool ChunkCache::has_room(std::int64_t count, std::span<const BlockKey> offered) {
  const std::int64_t lacking = count - std::ssize(free_places_) - (capacity_ - num_used_places_);
  if (lacking <= 0) {
    return true;
  }
  if (lacking > num_idle_) {
    return false;
  }
  const std::unordered_set<BlockKey> stay(offered.begin(), offered.end());
  const std::vector<BlockKey> gone = order_->evict(
      lacking, [&](BlockKey key) { return !stay.contains(key) && chunks_.at(key).readers == 0; });
  for (const BlockKey key : gone) {
    free_places_.push_back(chunks_.at(key).place);
    chunks_.erase(key);
  }
  num_idle_ -= std::ssize(gone);
  return !gone.empty();
}

std::optional<ChunkCache::Write> ChunkCache::begin_write(std::span<const BlockKey> keys,
                                                         ChunkUses& uses) {
  Write write;
  std::vector<BlockKey> offered;
  std::vector<BlockKey> used;
  for (const BlockKey key : keys) {
    const bool counts = rules_.store_threshold > 1;
    if (counts && rules_.counts_offers) {
      ++counts_[key];
    }
    const bool is_wanted = !counts || counts_[key] >= rules_.store_threshold;
    const auto chunk = chunks_.find(key);
    if (is_wanted && chunk == chunks_.end()) {
      write.keys.push_back(key);
    }
    if (is_wanted || rules_.follows_requests) {
      offered.push_back(key);
    }
    if (chunk == chunks_.end() ? is_wanted : chunk->second.readers >= 0) {
      used.push_back(key);
    }
    if (rules_.follows_requests && chunk != chunks_.end() && chunk->second.readers >= 0 &&
        !uses.inserted.contains(key)) {
      uses.reused.insert(key);
    }
  }
  if (rules_.follows_requests) {
    std::vector<BlockKey> missed;
    std::ranges::copy_if(write.keys, std::back_inserter(missed), [&](BlockKey key) {
      return uses.missed.insert(key).second;
    });
    order_->miss(missed);
    use(used, uses);
  }
  if (!has_room(std::ssize(write.keys), offered)) {
    return std::nullopt;
  }
  for (const BlockKey key : write.keys) {
    const bool is_fresh = num_used_places_ < capacity_;
    write.places.push_back(is_fresh ? num_used_places_++ : free_places_.back());
    if (!is_fresh) {
      free_places_.pop_back();
    }
    chunks_[key] = {.place = write.places.back()};
    order_->insert(key, uses);
  }
  uses.inserted.insert(write.keys.begin(), write.keys.end());
  return write;
}

void ChunkCache::end_write(std::span<const BlockKey> keys) {
  for (const BlockKey key : as_set(keys)) {
    chunks_.at(key).readers = 0;
    order_->set_idle(key, true);
    ++num_idle_;
  }
}

void ChunkCache::touch(std::span<const BlockKey> keys) {
  if (!rules_.follows_requests) {
    order_->touch(keys, [&](BlockKey key) { return chunks_.at(key).readers >= 0; });
  }
}

void ChunkCache::finish(ChunkUses& uses) {
  if (!rules_.follows_requests || uses.is_over) {
    return;
  }
  uses.is_over = true;
  std::vector<BlockKey> keys = uses.seen;
  std::ranges::stable_sort(keys, {}, [&](BlockKey key) { return uses.places[key]; });
  order_->finish(keys, uses);
}

}  // namespace ridgeline::conform
