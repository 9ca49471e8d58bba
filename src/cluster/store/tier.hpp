#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/store/eviction.hpp"
#include "core/key_map.hpp"
#include "core/time.hpp"

namespace ridgeline::store {

struct TierTotals {
  std::int64_t written = 0;  ///< Blocks whose writing has ended.
  std::int64_t evicted = 0;  ///< Blocks that gave way.
  std::int64_t refused = 0;  ///< Blocks that found no room: all others were being read or written.
  std::int64_t peak = 0;     ///< Blocks held or being written at a time.

  /// What a tier did in the place of another.
  TierTotals& operator+=(const TierTotals& later) {
    written += later.written;
    evicted += later.evicted;
    refused += later.refused;
    peak = peak > later.peak ? peak : later.peak;
    return *this;
  }
  friend bool operator==(const TierTotals&, const TierTotals&) = default;
};

/// Blocks of KV kept outside the GPU: in a host's memory, on its disk, or in a store that all
/// instances share. A block can be read once its writing has ended, and stays while it is read.
/// What moves the bytes is not known here.
class Tier {
 public:
  /// A tier with room for so many bytes, at least one. `kept`: for how long held_at() looks back.
  Tier(std::int64_t capacity, std::unique_ptr<Eviction> eviction, core::Duration kept = {});

  /// The instant of what happens next, not before an earlier one.
  void set_now(core::SimTime now);

  /// Whether a block can be read.
  [[nodiscard]] bool holds(BlockKey key) const;
  /// holds() when all before `as_of` had happened, which is not longer ago than the tier looks
  /// back, for a block whose writing had ended at `since` or later.
  [[nodiscard]] bool held_at(BlockKey key, core::SimTime as_of, core::SimTime since = {}) const;

  /// What became of begin_write().
  enum class Write : std::uint8_t {
    kBegun,
    kPresent,  ///< The block is there, or being written.
    kRefused,  ///< No other block may give way.
  };
  /// Makes room for a block of so many bytes, which is written from now on. `evicted` gets the
  /// blocks that gave way: one where all are of one size. Some may have given way in vain.
  Write begin_write(BlockKey key, std::int64_t bytes, std::vector<BlockKey>& evicted);
  /// The block can be read from now on.
  void end_write(BlockKey key);
  /// Its writing stopped half-way: the block is gone.
  void abandon_write(BlockKey key);
  /// A reading of a block that the tier holds begins, or ends.
  void begin_read(BlockKey key);
  void end_read(BlockKey key);
  /// A block is used again; nothing happens where the tier does not have it.
  void touch(BlockKey key) { eviction_->touch(key); }

  /// Blocks held or being written.
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(blocks_.size()); }
  /// Their bytes.
  [[nodiscard]] std::int64_t used() const { return used_; }
  [[nodiscard]] const TierTotals& totals() const { return totals_; }

 private:
  struct Block {
    std::int64_t bytes = 0;
    std::int64_t readers = 0;
    bool is_written = false;   ///< Its writing has ended ...
    core::SimTime since = {};  ///< ... at this instant.
  };
  /// A block that gave way: from when to when it could be read.
  struct Gone {
    core::SimTime since;
    core::SimTime until;
  };

  /// A block that is there.
  [[nodiscard]] Block& held(BlockKey key);
  void remember(BlockKey key, const Block& block);

  std::int64_t capacity_;  ///< In bytes, as what is used of it.
  std::int64_t used_ = 0;
  std::unique_ptr<Eviction> eviction_;
  core::Duration kept_;
  core::SimTime now_;
  core::KeyMap<Block> blocks_;
  std::unordered_map<BlockKey, std::deque<Gone>> gone_;  ///< By key, the oldest first.
  std::deque<std::pair<core::SimTime, BlockKey>> gone_order_;
  TierTotals totals_;
};

}  // namespace ridgeline::store
