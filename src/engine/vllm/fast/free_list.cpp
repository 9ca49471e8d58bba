// The free list of the fast twin's prefix cache: rows of free blocks, which are taken from its head
// and lose their content then.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/check.hpp"
#include "core/fetch.hpp"
#include "engine/vllm/fast/block_ids.hpp"
#include "engine/vllm/fast/prefix_cache.hpp"

namespace ridgeline::engine::vllm::fast {

void PrefixCache::add_row() {
  spare_rows_.push_back(static_cast<Row>(rows_.size()));
  rows_.emplace_back();
}

void PrefixCache::unlink(Row row) {
  const FreeRow& range = rows_[row];
  RIDGELINE_CHECK(
      row != kHead && rows_[range.previous].next == row && rows_[range.next].previous == row,
      "free list: neighbouring rows name each other");
  rows_[range.previous].next = range.next;
  rows_[range.next].previous = range.previous;
  spare_rows_.push_back(row);
}

void PrefixCache::add_free(ExtentIndex index, std::int64_t begin, std::int64_t end) {
  if (begin >= end) {
    return;
  }
  const Row next_free = extents_[index].shallowest;
  RIDGELINE_CHECK(extents_[index].owner == kNone, "prefix cache: no free block is in a table");
  RIDGELINE_CHECK(next_free == kNone || rows_[next_free].begin >= end,
                  "prefix cache: an extent's blocks are freed last to first");
  num_free_ += end - begin;
  const Row row = take_row();
  rows_[row].extent = index;
  rows_[row].is_own = false;
  rows_[row].deeper_or_owner = next_free;
  rows_[row].begin = begin;
  rows_[row].end = end;
  extents_[index].shallowest = row;
  link_before(kHead, row);
}

/// Puts `count` blocks without content on the free list: the last blocks of `owner`, or the pool's
/// blocks if `owner` is kNone.
void PrefixCache::add_empty(std::int64_t count, Owner owner) {
  RIDGELINE_CHECK(count >= 0, "prefix cache: only blocks held have keys");
  if (count == 0) {
    return;
  }
  num_free_ += count;
  if (free_unhashed_first_) {
    take_pending();  // Pending blocks were taken before the new ones stood at the head.
  }
  Row row = free_unhashed_first_ ? rows_[kHead].next : rows_[kHead].previous;
  if (is_empty_row(row)) {
    rows_[row].end += count;
  } else {
    row = take_row();
    rows_[row].extent = kNone;
    rows_[row].is_own = false;
    rows_[row].begin = 0;
    rows_[row].end = count;
    link_before(free_unhashed_first_ ? rows_[kHead].next : static_cast<Row>(kHead), row);
  }
  if (ids_) {
    ids_->put_back(owner, row, count, free_unhashed_first_, last_block_first_);
  }
}

BlockIds::Ids PrefixCache::free_ids() const {
  RIDGELINE_CHECK(keeps_ids(), "prefix cache: block ids are kept");
  BlockIds::Ids all;
  for (Row row = rows_[kHead].next; row != kHead; row = rows_[row].next) {
    const FreeRow& range = rows_[row];
    if (range.extent == kNone) {
      all.insert(all.end(), ids_->row(row).begin(), ids_->row(row).end());
      continue;
    }
    const std::int64_t begin = extents_[range.extent].begin;
    for (std::int64_t block = range.end - 1; block >= range.begin; --block) {
      all.push_back(ids_->extent(range.extent)[static_cast<std::size_t>(block - begin)]);
    }
  }
  return all;
}

void PrefixCache::take(std::int64_t count) {
  // Most often the first row of the list has no content that can be looked up, and is long enough.
  FreeRow& next = rows_[rows_[kHead].next];
  if (next.extent == kNone && next.end - next.begin > count && !ids_) {
    next.end -= count;
  } else {
    evict(count);
  }
}

/// Takes the blocks of pending_takes_ off the list. Their rows have no extents, and no request
/// returns for them, so that nothing else is updated.
void PrefixCache::take_pending() {
  Row row = rows_[kHead].next;
  for (; pending_takes_ > 0; row = rows_[row].next) {
    FreeRow& range = rows_[row];
    RIDGELINE_CHECK(row != kHead && range.extent == kNone,
                    "free list: blocks already counted as taken are at its head");
    const std::int64_t blocks = range.end - range.begin;
    if (blocks > pending_takes_) {
      range.end -= pending_takes_;
      pending_takes_ = 0;
      break;
    }
    pending_takes_ -= blocks;
    spare_rows_.push_back(row);
  }
  rows_[kHead].next = row;
  rows_[row].previous = kHead;
  core::fetch_line(rows_[rows_[row].next]);  // The next one to be taken, written long ago.
}

void PrefixCache::evict(std::int64_t count) {
  while (count > 0) {
    const Row row = rows_[kHead].next;
    RIDGELINE_CHECK(row != kHead, "free list: a block is taken from an empty list");
    FreeRow& range = rows_[row];
    RIDGELINE_CHECK(range.extent == kNone || extents_[range.extent].end == range.end,
                    "free list: an extent is evicted from its end");
    if (range.extent != kNone && range.end - range.begin > count && !ids_) [[likely]] {
      range.end -= count;
      extents_[range.extent].end -= count;
      chains_[extents_[range.extent].chain].evicted += count;
      return;
    }
    const std::int64_t taken = std::min(count, range.end - range.begin);
    range.end -= taken;
    count -= taken;
    for (std::int64_t i = 0; ids_ && i < taken; ++i) {
      range.extent == kNone ? ids_->take_first(row) : ids_->take_last(range.extent);
    }
    const bool emptied = range.end == range.begin;
    if (range.extent != kNone) {
      Extent& extent = extents_[range.extent];
      extent.end -= taken;
      chains_[extent.chain].evicted += taken;
      if (emptied && extent.shallowest == row) {
        extent.shallowest = kNone;
      } else if (emptied) {
        Row above = extent.shallowest;
        while (rows_[above].deeper_or_owner != row) {
          above = rows_[above].deeper_or_owner;
        }
        rows_[above].deeper_or_owner = kNone;
      }
      if (extent.end == extent.begin) {
        forget(range.extent);
      }
    }
    if (emptied) {
      if (range.is_own && range.deeper_or_owner != kNone) {
        forget_left_blocks(range.deeper_or_owner);
      }
      unlink(row);
    }
  }
}

}  // namespace ridgeline::engine::vllm::fast
