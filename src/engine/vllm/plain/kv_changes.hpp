#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "core/time.hpp"

namespace ridgeline::engine::vllm::plain {

/// What changed in a prefix cache of late: which block hashes came and went, and when. With it the
/// cache can be looked up as it was a short time ago, without a second copy of it.
class KvChanges {
 public:
  /// Changes are kept for so long.
  explicit KvChanges(core::Duration kept) : kept_(kept) {}

  /// The cache has reached `now`; not before an earlier one.
  void set_now(core::SimTime now);
  /// A hash of a group can be found from now on, and could not before (`came`), or no longer.
  void note(std::uint64_t hash, std::size_t group, bool came);
  /// Whether the hash could be found when all changes before `as_of` had happened, if it has
  /// changed since. Requires that `as_of` is not longer ago than changes are kept.
  [[nodiscard]] std::optional<bool> found_at(std::uint64_t hash,
                                             std::size_t group,
                                             core::SimTime as_of) const;

 private:
  using Key = std::pair<std::uint64_t, std::size_t>;
  struct Change {
    core::SimTime at;
    bool came = false;
  };

  core::Duration kept_;
  core::SimTime now_;
  std::deque<std::pair<core::SimTime, Key>> order_;
  std::map<Key, std::deque<Change>> changes_;  ///< Of each key, the oldest first.
};

}  // namespace ridgeline::engine::vllm::plain
