#pragma once

#include <cstdint>
#include <optional>

namespace ridgeline::store {

/// Which blocks go into tiers and come back, as `cluster.kv_offload` states it. The section and the
/// cluster's part have these rules as they are: a new one is a member here, a line of the option
/// table, and its use.
struct OffloadRules {
  /// What is loaded from a lower tier comes into the highest too. Unset: true.
  std::optional<bool> promote_on_hit = {};
  /// Fewer blocks of the engine are computed, not loaded. Unset: 1.
  std::optional<std::int64_t> min_hit_blocks = {};
  /// Stored once so many requests wanted it. Unset: 0.
  std::optional<std::int64_t> store_threshold = {};
};

}  // namespace ridgeline::store
