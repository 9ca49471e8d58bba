#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {

/// Consistent hashing: every instance has points on a ring, and a key goes to the first point at or
/// after its own. An instance more takes keys from the others and moves no other key.
class HashRing {
 public:
  explicit HashRing(std::size_t points_each) : points_each_(points_each) {}

  /// The instances that may be chosen, made anew where they are others than before.
  void assign(const RouteInput& input);
  /// The places (in `input.instances` of assign()) of all instances, in the order in which a walk
  /// from the key meets them; the first is the key's own.
  [[nodiscard]] std::vector<std::size_t> walk(std::uint64_t key) const;

 private:
  std::size_t points_each_;
  std::vector<core::InstanceId> ids_;
  std::vector<std::pair<std::uint64_t, std::size_t>> points_;  ///< Hash and place, in order.
};

/// Maglev's table (Eisenbud and others, NSDI 2016): each instance fills the places of a permutation
/// of its own in turn, so that all have nearly as many.
class MaglevTable {
 public:
  explicit MaglevTable(std::size_t size) : size_(size) {}

  void assign(const RouteInput& input);
  [[nodiscard]] std::size_t at(std::uint64_t key) const { return table_[key % size_]; }
  [[nodiscard]] const std::vector<std::size_t>& table() const { return table_; }

 private:
  std::size_t size_;  ///< A prime above the number of instances.
  std::vector<core::InstanceId> ids_;
  std::vector<std::size_t> table_;  ///< Places of instances.
};

}  // namespace ridgeline::routing
