// Blocks of a request that no other request can look up. While the request runs they are a count;
// once it ends or is preempted they are one row of the free list.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/check.hpp"
#include "engine/vllm/fast/prefix_cache.hpp"

namespace ridgeline::engine::vllm::fast {

void PrefixCache::begin_own_table(Table& table) {
  table.growing = kNone;
  table.keyed = 0;
  table.single_blocks_until = 0;
  table.own = true;
  table.holds.clear();
}

std::int64_t PrefixCache::num_left_blocks(Owner owner) const {
  const Row row = row_of(owner);
  return row == kNone ? 0 : std::min(rows_[row].end, rows_[row].keyed);
}

void PrefixCache::find_left_blocks(Owner owner, std::int64_t most, Match& match) const {
  match.clear();
  const std::int64_t left = num_left_blocks(owner);
  match.blocks = std::min(left, most);
  match.free_blocks = match.blocks;
  match.next_is_cached = left > most;
}

void PrefixCache::adopt_left_blocks(Table& table, Owner owner, const Match& match) {
  begin_own_table(table);
  table.keyed = match.blocks;
  const Row row = row_of(owner);
  if (row == kNone) {
    RIDGELINE_CHECK(match.blocks == 0, "own blocks: a request finds only what it left");
    return;
  }
  RIDGELINE_CHECK(rows_[row].is_own && match.blocks <= rows_[row].end,
                  "own blocks: a request finds only what it left");
  forget_left_blocks(owner);
  num_free_ -= match.blocks;
  if (ids_) {
    ids_->take_back(owner, row, match.blocks);
  }
  // The blocks without keys stay in the free list, as a row without content.
  FreeRow& range = rows_[row];
  range.is_own = false;
  range.end -= match.blocks;
  if (range.end == 0) {
    unlink(row);
  }
}

void PrefixCache::assign_own(Table& table, const OwnContent& content) {
  RIDGELINE_CHECK(table.own, "own blocks: a request's blocks become findable once");
  table.own = false;
  table.chain = take_chain();
  chains_[table.chain].chain.assign_unique(content.id, content.lora, content.prompt_tokens);
}

void PrefixCache::make_findable(Table& table, Owner owner, const OwnContent& content) {
  assign_own(table, content);
  table.growing = open(table, owner, 0, 0);
}

void PrefixCache::make_left_blocks_findable(Table& table, Owner owner, const OwnContent& content) {
  assign_own(table, content);
  if (const Row row = row_of(owner); row != kNone) {
    make_row_findable(row);
  }
}

/// Keeps the row for a preempted request. The request can look its blocks up, so that they are
/// evicted one by one from now on.
void PrefixCache::keep_left_blocks(Owner owner, Row row) {
  take_pending();
  ++reasons_to_take_now_;
  if (left_rows_.size() <= owner) {
    left_rows_.resize(std::size_t{owner} + 1, kNone);
  }
  RIDGELINE_CHECK(left_rows_[owner] == kNone,
                  "own blocks: a request leaves blocks once until it returns");
  left_rows_[owner] = row;
}

void PrefixCache::forget_left_blocks(Owner owner) {
  RIDGELINE_CHECK(row_of(owner) != kNone && reasons_to_take_now_ > 0,
                  "own blocks: a request returns to blocks that it left");
  --reasons_to_take_now_;
  left_rows_[owner] = kNone;
}

void PrefixCache::make_ended_blocks_findable() {
  take_pending();
  for (Row row = rows_[kHead].next; row != kHead; row = rows_[row].next) {
    if (rows_[row].is_own) {
      make_row_findable(row);
    }
  }
}

/// Makes an extent of the row that a request left in the free list, so that others find it.
void PrefixCache::make_row_findable(Row row) {
  RIDGELINE_CHECK(row != kHead && rows_[row].is_own,
                  "own blocks: a row becomes an extent that was a request's own");
  if (rows_[row].deeper_or_owner != kNone) {
    abandon_left_blocks(rows_[row].deeper_or_owner);
  }
  const FreeRow range = rows_[row];
  if (range.end > range.keyed) {
    const Row empty = take_row();
    rows_[empty].extent = kNone;
    rows_[empty].is_own = false;
    rows_[empty].begin = 0;
    rows_[empty].end = range.end - range.keyed;
    link_before(row, empty);
    if (ids_) {
      ids_->move_first(row, empty, range.end - range.keyed);
    }
  }
  rows_[row].is_own = false;
  const std::int64_t end = std::min(range.end, range.keyed);
  if (end == 0) {
    unlink(row);
    return;
  }
  Table table;
  table.chain = take_chain();
  chains_[table.chain].chain.assign_unique(range.id, range.lora, range.prompt_tokens);
  const ExtentIndex extent = open(table, kNone, 0, end);
  drop_chain(table.chain);
  extents_[extent].shallowest = row;
  rows_[row].extent = extent;
  rows_[row].deeper_or_owner = kNone;
  rows_[row].end = end;
  if (ids_) {
    ids_->make_extent(row, extent);
  }
}

}  // namespace ridgeline::engine::vllm::fast
