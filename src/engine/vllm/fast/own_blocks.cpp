// Blocks that are a request's own: as long as nobody else can look for them, they are a count while
// it runs, and afterwards one row of the free list.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/check.hpp"
#include "engine/vllm/fast/prefix_cache.hpp"

namespace ridgeline::engine::vllm::fast {

void PrefixCache::adopt_own(Table& table) {
  table.growing = kNone;
  table.keyed = 0;
  table.single_until = 0;
  table.own = true;
  table.holds.clear();
}

std::int64_t PrefixCache::num_left(Owner owner) const {
  const Item item = item_of(owner);
  return item == kNone ? 0 : std::min(items_[item].end, items_[item].keyed);
}

void PrefixCache::find_own(Owner owner, std::int64_t most, Match& match) const {
  match.clear();
  const std::int64_t left = num_left(owner);
  match.blocks = std::min(left, most);
  match.unheld = match.blocks;
  match.next_is_cached = left > most;
}

void PrefixCache::adopt_left(Table& table, Owner owner, const Match& match) {
  adopt_own(table);
  table.keyed = match.blocks;
  const Item item = item_of(owner);
  if (item == kNone) {
    RIDGELINE_CHECK(match.blocks == 0, "own blocks: a request finds only what it left");
    return;
  }
  RIDGELINE_CHECK(items_[item].is_own && match.blocks <= items_[item].end,
                  "own blocks: a request finds only what it left");
  forget_left(owner);
  num_free_ -= match.blocks;
  if (ids_) {
    ids_->take_back(owner, item, match.blocks);
  }
  // What it had without keys stays, and holds nothing.
  FreeRange& range = items_[item];
  range.is_own = false;
  range.end -= match.blocks;
  if (range.end == 0) {
    unlink(item);
  }
}

void PrefixCache::assign_own(Table& table, const OwnContent& content) {
  RIDGELINE_CHECK(table.own, "own blocks: a request's blocks become findable once");
  table.own = false;
  table.chain = take_chain();
  chains_[table.chain].chain.assign_unique(content.id, content.lora, content.prompt_tokens);
}

void PrefixCache::publish(Table& table, Owner owner, const OwnContent& content) {
  assign_own(table, content);
  table.growing = open(table, owner, 0, 0);
}

void PrefixCache::publish_left(Table& table, Owner owner, const OwnContent& content) {
  assign_own(table, content);
  if (const Item item = item_of(owner); item != kNone) {
    publish_item(item);
  }
}

/// What it has left is evicted block by block, as it can be looked up.
void PrefixCache::expect_back(Owner owner, Item item) {
  take_owed();
  ++reasons_to_take_now_;
  if (left_.size() <= owner) {
    left_.resize(std::size_t{owner} + 1, kNone);
  }
  RIDGELINE_CHECK(left_[owner] == kNone,
                  "own blocks: a request leaves blocks once until it returns");
  left_[owner] = item;
}

void PrefixCache::forget_left(Owner owner) {
  RIDGELINE_CHECK(item_of(owner) != kNone && reasons_to_take_now_ > 0,
                  "own blocks: a request returns to blocks that it left");
  --reasons_to_take_now_;
  left_[owner] = kNone;
}

void PrefixCache::publish_ended() {
  take_owed();
  for (Item item = items_[kHead].next; item != kHead; item = items_[item].next) {
    if (items_[item].is_own) {
      publish_item(item);
    }
  }
}

/// Makes an extent of what a request has left in the free list.
void PrefixCache::publish_item(Item item) {
  RIDGELINE_CHECK(item != kHead && items_[item].is_own,
                  "own blocks: a row becomes an extent that was a request's own");
  if (items_[item].deeper_or_owner != kNone) {
    disown(items_[item].deeper_or_owner);
  }
  const FreeRange range = items_[item];
  if (range.end > range.keyed) {
    const Item plain = take_item();
    items_[plain].extent = kNone;
    items_[plain].is_own = false;
    items_[plain].begin = 0;
    items_[plain].end = range.end - range.keyed;
    link_before(item, plain);
    if (ids_) {
      ids_->move_first(item, plain, range.end - range.keyed);
    }
  }
  items_[item].is_own = false;
  const std::int64_t end = std::min(range.end, range.keyed);
  if (end == 0) {
    unlink(item);
    return;
  }
  Table table;
  table.chain = take_chain();
  chains_[table.chain].chain.assign_unique(range.id, range.lora, range.prompt_tokens);
  const ExtentIndex extent = open(table, kNone, 0, end);
  drop_chain(table.chain);
  extents_[extent].shallowest = item;
  items_[item].extent = extent;
  items_[item].deeper_or_owner = kNone;
  items_[item].end = end;
  if (ids_) {
    ids_->make_extent(item, extent);
  }
}

}  // namespace ridgeline::engine::vllm::fast
