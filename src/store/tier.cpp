#include "store/tier.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/time.hpp"
#include "store/eviction.hpp"

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
  const auto block = blocks_.find(key);
  return block != blocks_.end() && block->second.is_written;
}

bool Tier::held_at(BlockKey key, core::SimTime as_of, core::SimTime since) const {
  RIDGELINE_CHECK(as_of >= now_ || now_ - as_of <= kept_,
                  "a tier is looked up as it was no longer ago than it looks back");
  const auto block = blocks_.find(key);
  if (block != blocks_.end() && block->second.is_written && block->second.since < as_of) {
    return block->second.since >= since;
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
      const Block& block = blocks_.at(one);
      return block.is_written && block.readers == 0;
    });
    if (!gone) {
      ++totals_.refused;
      return Write::kRefused;
    }
    const auto block = blocks_.find(*gone);
    remember(*gone, block->second);
    used_ -= block->second.bytes;
    blocks_.erase(block);
    evicted.push_back(*gone);
    ++totals_.evicted;
  }
  blocks_.emplace(key, Block{.bytes = bytes});
  used_ += bytes;
  eviction_->insert(key);
  totals_.peak = std::max(totals_.peak, size());
  return Write::kBegun;
}

/// For as long as the tier looks back.
void Tier::remember(BlockKey key, const Block& block) {
  gone_[key].push_back({.since = block.since, .until = now_});
  gone_order_.emplace_back(now_, key);
}

void Tier::end_write(BlockKey key) {
  Block& block = blocks_.at(key);
  RIDGELINE_CHECK(!block.is_written, "a block is written once");
  block.is_written = true;
  block.since = now_;
  ++totals_.written;
}

void Tier::abandon_write(BlockKey key) {
  const auto block = blocks_.find(key);
  RIDGELINE_CHECK(block != blocks_.end() && !block->second.is_written,
                  "a block whose writing stops is being written");
  used_ -= block->second.bytes;
  blocks_.erase(block);
  eviction_->forget(key);
}

void Tier::begin_read(BlockKey key) {
  Block& block = blocks_.at(key);
  RIDGELINE_CHECK(block.is_written, "a block is read once it is written");
  ++block.readers;
}

void Tier::end_read(BlockKey key) {
  Block& block = blocks_.at(key);
  RIDGELINE_CHECK(block.readers > 0, "a reading that ends has begun");
  --block.readers;
}

void Tier::touch(BlockKey key) {
  if (blocks_.contains(key)) {
    eviction_->touch(key);
  }
}

}  // namespace ridgeline::store
