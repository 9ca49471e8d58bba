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

/// The ids of blocks, kept only for recordings: PrefixCache counts blocks and needs no ids. This
/// class moves ids from the free list to requests, on to extents as blocks get keys, and back, in
/// the order in which PrefixCache moves counts.
class BlockIds {
 public:
  using Index = std::uint32_t;
  using Ids = std::vector<core::BlockId>;

  /// Blocks 1, 2, ... stand in row `row` of the free list; 0 is the null block.
  BlockIds(std::int64_t num_usable, Index row) {
    for (std::int64_t id = 1; id <= num_usable; ++id) {
      at(rows_, row).emplace_back(static_cast<std::uint32_t>(id));
    }
  }

  /// Takes the first block of a row without content; give() then assigns it to a request.
  void take_first(Index row) {
    RIDGELINE_CHECK(row < rows_.size() && !rows_[row].empty(),
                    "block ids: a row of the free list has an id for each block");
    taken_.push_back(rows_[row].front());
    rows_[row].pop_front();
  }
  /// Takes the last block of an extent; give() then assigns it to a request.
  void take_last(Index extent) {
    RIDGELINE_CHECK(extent < extents_.size() && !extents_[extent].empty(),
                    "block ids: an extent has an id for each block");
    taken_.push_back(extents_[extent].back());
    extents_[extent].pop_back();
  }
  /// Assigns the next `count` blocks taken to a request.
  void give(Index owner, std::int64_t count) {
    RIDGELINE_CHECK(count <= std::ssize(taken_), "block ids: a request gets blocks just taken");
    for (std::int64_t i = 0; i < count; ++i) {
      at(tails_, owner).push_back(taken_.front());
      taken_.pop_front();
    }
  }
  /// Gives the extent `count` blocks in all: the missing ones are its owner's first blocks without
  /// keys.
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
  /// Moves the last `count` of a request's blocks without keys to a row: to the head or the tail of
  /// the row, in reverse order (last_first) or not.
  void put_back(Index owner, Index row, std::int64_t count, bool to_head, bool last_first) {
    auto& tail = at(tails_, owner);
    auto& ids = at(rows_, row);
    RIDGELINE_CHECK(count <= std::ssize(tail), "block ids: a request gives back blocks it has");
    const auto first = tail.end() - count;
    if (last_first) {
      std::reverse(first, tail.end());
    }
    ids.insert(to_head ? ids.begin() : ids.end(), first, tail.end());
    tail.erase(first, tail.end());
  }
  /// Gives the last `count` blocks of a row to a request, the last block of the row first.
  void take_back(Index owner, Index row, std::int64_t count) {
    auto& tail = at(tails_, owner);
    auto& ids = at(rows_, row);
    RIDGELINE_CHECK(count <= std::ssize(ids), "block ids: a request takes back what it left");
    for (std::int64_t i = 0; i < count; ++i) {
      tail.push_back(ids.back());
      ids.pop_back();
    }
  }
  /// Moves all blocks of a row to an extent. A row is taken from its head and an extent from its
  /// end, so that the order is reversed.
  void make_extent(Index row, Index extent) {
    auto& ids = at(rows_, row);
    at(extents_, extent).assign(ids.rbegin(), ids.rend());
    ids.clear();
  }
  /// Moves the first `count` blocks of a row to another row.
  void move_first(Index row, Index to, std::int64_t count) {
    at(rows_, std::max(row, to));  // Both rows exist before a reference is taken.
    auto& ids = rows_[row];
    RIDGELINE_CHECK(count <= std::ssize(ids), "block ids: a row is split within its length");
    rows_[to].assign(ids.begin(), ids.begin() + count);
    ids.erase(ids.begin(), ids.begin() + count);
  }

  [[nodiscard]] const std::deque<core::BlockId>& row(Index row) { return at(rows_, row); }
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

  /// The rows of the free list whose blocks have no content.
  std::vector<std::deque<core::BlockId>> rows_;
  std::vector<Ids> extents_;
  std::vector<std::deque<core::BlockId>> tails_;  ///< Blocks without keys of each request.
  std::deque<core::BlockId> taken_;
};

}  // namespace ridgeline::engine::vllm::fast
