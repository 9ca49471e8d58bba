#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"

namespace ridgeline::engine::vllm::fast {

/// Which block is which, where somebody asks (`conform`): PrefixCache counts blocks and needs no
/// names for them. It moves ids from the free list to requests, on to extents as blocks are keyed,
/// and back, in the order in which PrefixCache moves counts.
class BlockIds {
 public:
  using Index = std::uint32_t;
  using Ids = std::vector<core::BlockId>;

  /// Blocks 1, 2, ... wait in item `item` of the free list; 0 is the null block.
  BlockIds(std::int64_t num_usable, Index item) {
    for (std::int64_t id = 1; id <= num_usable; ++id) {
      at(items_, item).emplace_back(static_cast<std::uint32_t>(id));
    }
  }

  /// The first block of an item that holds nothing is taken, for a request to be named by give().
  void take_plain(Index item) {
    RIDGELINE_CHECK(item < items_.size() && !items_[item].empty(),
                    "block ids: a row of the free list has an id for each block");
    taken_.push_back(items_[item].front());
    items_[item].pop_front();
  }
  /// The last block of an extent is.
  void take_last(Index extent) {
    RIDGELINE_CHECK(extent < extents_.size() && !extents_[extent].empty(),
                    "block ids: an extent has an id for each block");
    taken_.push_back(extents_[extent].back());
    extents_[extent].pop_back();
  }
  /// The next `count` of those taken are a request's.
  void give(Index owner, std::int64_t count) {
    RIDGELINE_CHECK(count <= std::ssize(taken_), "block ids: a request gets blocks just taken");
    for (std::int64_t i = 0; i < count; ++i) {
      at(tails_, owner).push_back(taken_.front());
      taken_.pop_front();
    }
  }
  /// The extent has `count` blocks: those it lacks come from its owner's that have no keys yet.
  void fill(Index extent, Index owner, std::int64_t count) {
    Ids& ids = at(extents_, extent);
    auto& tail = at(tails_, owner);
    RIDGELINE_CHECK(count - std::ssize(ids) <= std::ssize(tail),
                    "block ids: an extent grows by blocks of its request");
    while (static_cast<std::int64_t>(ids.size()) < count) {
      ids.push_back(tail.front());
      tail.pop_front();
    }
  }
  /// The last `count` of a request's blocks without keys go to an item: to its head or its tail, so
  /// that they are taken the last one first, or the first one.
  void put_back(Index owner, Index item, std::int64_t count, bool to_head, bool last_first) {
    auto& tail = at(tails_, owner);
    auto& ids = at(items_, item);
    RIDGELINE_CHECK(count <= std::ssize(tail), "block ids: a request gives back blocks it has");
    const auto first = tail.end() - count;
    if (last_first) {
      std::reverse(first, tail.end());
    }
    ids.insert(to_head ? ids.begin() : ids.end(), first, tail.end());
    tail.erase(first, tail.end());
  }
  /// The last `count` of an item are a request's again, the last one its first.
  void take_back(Index owner, Index item, std::int64_t count) {
    auto& tail = at(tails_, owner);
    auto& ids = at(items_, item);
    RIDGELINE_CHECK(count <= std::ssize(ids), "block ids: a request takes back what it left");
    for (std::int64_t i = 0; i < count; ++i) {
      tail.push_back(ids.back());
      ids.pop_back();
    }
  }
  /// What stands in an item, to be taken from its head, is an extent's, to be taken from its end.
  void make_extent(Index item, Index extent) {
    auto& ids = at(items_, item);
    at(extents_, extent).assign(ids.rbegin(), ids.rend());
    ids.clear();
  }
  /// The first `count` of an item go to another.
  void move_first(Index item, Index to, std::int64_t count) {
    at(items_, std::max(item, to));  // Grown now: references stay valid.
    auto& ids = items_[item];
    RIDGELINE_CHECK(count <= std::ssize(ids), "block ids: a row is split within its length");
    items_[to].assign(ids.begin(), ids.begin() + count);
    ids.erase(ids.begin(), ids.begin() + count);
  }

  [[nodiscard]] const std::deque<core::BlockId>& item(Index item) { return at(items_, item); }
  [[nodiscard]] const Ids& extent(Index extent) { return at(extents_, extent); }
  [[nodiscard]] const std::deque<core::BlockId>& tail(Index owner) { return at(tails_, owner); }

 private:
  template <typename Lists>
  static typename Lists::reference at(Lists& lists, Index index) {
    if (lists.size() <= index) {
      lists.resize(std::size_t{index} + 1);
    }
    return lists[index];
  }

  std::vector<std::deque<core::BlockId>> items_;  ///< Of the free list, where they hold nothing.
  std::vector<Ids> extents_;
  std::vector<std::deque<core::BlockId>> tails_;  ///< Of each request, its blocks without keys.
  std::deque<core::BlockId> taken_;
};

}  // namespace ridgeline::engine::vllm::fast
