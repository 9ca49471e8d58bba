#include "cluster/store/tier.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cluster/store/eviction.hpp"
#include "core/check.hpp"
#include "core/time.hpp"

namespace ridgeline::store {

Tier::Tier(std::int64_t capacity, std::unique_ptr<Eviction> eviction, core::Duration kept)
    : capacity_(capacity), eviction_(std::move(eviction)), kept_(kept) {
  RIDGELINE_CHECK(capacity > 0, "a tier has room");
}

void Tier::set_now(core::SimTime now) {
  RIDGELINE_CHECK(now >= now_, "a tier's clock goes forward");
  now_ = now;
  while (!gone_order_.empty() && now - gone_order_.front().first > kept_) {
    const auto entry = gone_.find(gone_order_.front().second);
    entry->second.pop_front();
    if (entry->second.empty()) {
      gone_.erase(entry);
    }
    gone_order_.pop_front();
  }
}

bool Tier::holds(BlockKey key) const {
  const Block* const block = blocks_.find(key);
  return block != nullptr && block->is_written;
}

bool Tier::held_at(BlockKey key, core::SimTime as_of, core::SimTime since) const {
  RIDGELINE_CHECK(as_of >= now_ || now_ - as_of <= kept_,
                  "a tier is looked up as it was no longer ago than it looks back");
  const Block* const block = blocks_.find(key);
  if (block != nullptr && block->is_written && block->since < as_of) {
    return block->since >= since;
  }
  const auto gone = gone_.find(key);
  return gone != gone_.end() && std::ranges::any_of(gone->second, [&](const Gone& one) {
           return one.since < as_of && as_of <= one.until && one.since >= since;
         });
}

Tier::Write Tier::begin_write(BlockKey key, std::int64_t bytes, std::vector<BlockKey>& evicted) {
  if (blocks_.contains(key)) {
    return Write::kPresent;
  }
  eviction_->expect(key);
  while (used_ + bytes > capacity_) {
    const auto gone = eviction_->evict([this](BlockKey one) {
      const Block& block = held(one);
      return block.is_written && block.readers == 0;
    });
    if (!gone) {
      ++totals_.refused;
      return Write::kRefused;
    }
    const Block& block = held(*gone);
    remember(*gone, block);
    used_ -= block.bytes;
    blocks_.erase(*gone);
    evicted.push_back(*gone);
    ++totals_.evicted;
  }
  blocks_[key].bytes = bytes;
  used_ += bytes;
  eviction_->insert(key);
  totals_.peak = std::max(totals_.peak, size());
  return Write::kBegun;
}

/// For as long as the tier looks back.
void Tier::remember(BlockKey key, const Block& block) {
  if (now_ == core::SimTime()) {
    return;  // Nothing was there before.
  }
  gone_[key].push_back({.since = block.since, .until = now_});
  gone_order_.emplace_back(now_, key);
}

void Tier::end_write(BlockKey key) {
  Block& block = held(key);
  RIDGELINE_CHECK(!block.is_written, "a block is written once");
  block.is_written = true;
  block.since = now_;
  ++totals_.written;
}

void Tier::abandon_write(BlockKey key) {
  const Block& block = held(key);
  RIDGELINE_CHECK(!block.is_written, "a block whose writing stops is being written");
  used_ -= block.bytes;
  blocks_.erase(key);
  eviction_->forget(key);
}

void Tier::begin_read(BlockKey key) {
  Block& block = held(key);
  RIDGELINE_CHECK(block.is_written, "a block is read once it is written");
  ++block.readers;
}

void Tier::end_read(BlockKey key) {
  Block& block = held(key);
  RIDGELINE_CHECK(block.readers > 0, "a reading that ends has begun");
  --block.readers;
}

Tier::Block& Tier::held(BlockKey key) {
  Block* const block = blocks_.find(key);
  RIDGELINE_CHECK(block != nullptr, "a block is in the tier");
  return *block;
}

}  // namespace ridgeline::store
