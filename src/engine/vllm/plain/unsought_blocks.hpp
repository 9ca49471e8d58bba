#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/ring.hpp"
#include "engine/vllm/plain/block_hashes.hpp"

namespace ridgeline::engine::vllm::plain {

/// Whose blocks they are, as far as their hashes follow from it: of a request whose prompt states
/// no content, and the adapter that it runs with.
struct BlockOwner {
  core::RequestId request;
  std::uint32_t prompt_tokens = 0;
  core::LoraId::Rep lora = 0;
};

/// A free block and what it holds.
struct FreeBlock {
  core::BlockId id;
  std::uint16_t group = 0;
  bool is_hashed = false;  ///< A look-up could find it, under its hash and group.
  bool has_hash = false;   ///< The hash has been made; else it follows from owner and place.
  std::uint64_t hash = 0;
  std::uint32_t place = 0;  ///< In the owner's table.
  BlockOwner owner;
};

/// Consecutive blocks of one request's table that are given back.
struct TablePart {
  std::span<const core::BlockId> blocks;
  std::int64_t first = 0;       ///< Place of the first of them in the table.
  std::int64_t num_hashed = 0;  ///< Full blocks of the table, whose hashes these are.
  const BlockHashes& hashes;    ///< As far as they have been made.
  BlockOwner owner;
  std::size_t group = 0;
};

/// The free blocks of a pool in which no request has looked for a cached block yet. Until then a
/// block has one holder at most, and nothing is known of it but its place in the order of reuse; so
/// that to take or give back many touches a few cache lines.
class UnsoughtBlocks {
 public:
  explicit UnsoughtBlocks(std::int64_t blocks) : last_(blocks) {}

  /// Takes the `count` blocks to be reused first, behind those of a table; there are as many.
  void take(std::int64_t count, std::vector<core::BlockId>& table) {
    for (; count > 0 && !first_.empty(); --count) {
      table.push_back(first_.back());
      first_.pop_back();
    }
    for (; count > 0 && has_unused(); --count) {
      table.emplace_back(static_cast<core::BlockId::Rep>(next_unused_++));
    }
    RIDGELINE_CHECK(count <= static_cast<std::int64_t>(queue_.size()),
                    "allocation from an empty free list");
    for (; count > 0; --count) {
      table.push_back(queue_.front().id);
      queue_.pop_front();
    }
  }

  /// The deepest block is reused first, or the first one (`in_order`); with `unhashed_first`,
  /// blocks without a hash come before all others. `stays_findable(i)`: whether block i of the
  /// table has one once it is full.
  template <class StaysFindable>
  void give_back(const TablePart& part,
                 bool in_order,
                 bool unhashed_first,
                 StaysFindable stays_findable) {
    const auto blocks = static_cast<std::int64_t>(part.blocks.size());
    const auto id_at = [&](std::int64_t i) { return part.blocks[static_cast<std::size_t>(i)]; };
    const auto is_hashed = [&](std::int64_t i) {
      return part.first + i < part.num_hashed && stays_findable(part.first + i);
    };
    for (std::int64_t n = 0; unhashed_first && n < blocks; ++n) {
      const std::int64_t i = in_order ? blocks - 1 - n : n;
      if (!is_hashed(i)) {
        first_.push_back(id_at(i));
      }
    }
    for (std::int64_t n = 0; n < blocks; ++n) {
      const std::int64_t i = in_order ? n : blocks - 1 - n;
      const bool hashed = is_hashed(i);
      if (hashed || !unhashed_first) {
        FreeBlock& free = queue_.extend();
        free.id = id_at(i);
        free.group = static_cast<std::uint16_t>(part.group);
        free.is_hashed = hashed;
        const auto place = static_cast<std::size_t>(part.first + i);
        free.has_hash = place < part.hashes.size();
        free.hash = hashed && free.has_hash ? part.hashes[place] : 0;
        free.place = static_cast<std::uint32_t>(place);
        free.owner = part.owner;
      }
    }
  }

  void forget_hashes() {
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      queue_[i].is_hashed = false;
    }
  }

  /// In the order of reuse.
  [[nodiscard]] std::vector<core::BlockId> ids() const {
    std::vector<core::BlockId> all(first_.rbegin(), first_.rend());
    for (std::int64_t id = next_unused_; id <= last_; ++id) {
      all.emplace_back(static_cast<core::BlockId::Rep>(id));
    }
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      all.push_back(queue_[i].id);
    }
    return all;
  }

  /// Blocks 1 to this were used at some time.
  [[nodiscard]] std::int64_t num_ever_used() const { return next_unused_ - 1; }
  [[nodiscard]] bool has_unused() const { return next_unused_ <= last_; }
  /// The order of reuse: the last of these first, then the blocks never used, then the queue.
  [[nodiscard]] const std::vector<core::BlockId>& first() const { return first_; }
  [[nodiscard]] const core::Ring<FreeBlock>& queue() const { return queue_; }

 private:
  std::vector<core::BlockId> first_;
  std::int64_t next_unused_ = 1;
  std::int64_t last_;
  core::Ring<FreeBlock> queue_;
};

}  // namespace ridgeline::engine::vllm::plain
