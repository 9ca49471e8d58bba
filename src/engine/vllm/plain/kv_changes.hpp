#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "core/time.hpp"
#include "engine/kv_look.hpp"

namespace ridgeline::engine::vllm::plain {

/// What changed in a prefix cache of late: which block hashes came and went, and when. With it the
/// cache can be looked up as it was a short time ago, without a second copy of it.
class KvChanges {
 public:
  explicit KvChanges(const KvHistory& history) : history_(history) {}

  /// The cache has reached `now`; not before an earlier one.
  void set_now(core::SimTime now);
  /// A hash of a group can be found from now on, and could not before (`came`), or no longer.
  void note(std::uint64_t hash, std::size_t group, bool came);
  /// Whether the hash could be found as the look says; `is_there`: whether it can be now. Requires
  /// that `look.as_of` is not longer ago than changes are kept.
  [[nodiscard]] bool found(std::uint64_t hash,
                           std::size_t group,
                           const KvLook& look,
                           bool is_there) const;

 private:
  using Key = std::pair<std::uint64_t, std::size_t>;
  struct Change {
    core::SimTime at;
    bool came = false;
    core::SimTime since;  ///< When a block that went had come, where ages are kept.
  };

  KvHistory history_;
  core::SimTime now_;
  std::deque<std::pair<core::SimTime, Key>> order_;
  std::map<Key, std::deque<Change>> changes_;  ///< Changes of each key, the oldest first.
  std::map<Key, core::SimTime> ages_;          ///< Where they are kept: when what is there came.
};

}  // namespace ridgeline::engine::vllm::plain
