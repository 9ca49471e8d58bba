#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/scaling/rolling_update.hpp"
#include "core/time.hpp"

namespace ridgeline::scenario {

/// Section `cluster.rolling_update`: all instances are replaced by new ones, batch by batch, as a
/// Kubernetes Deployment does. Without `update_at`: none are.
struct RollingUpdateSection {
  std::optional<core::Duration> update_at;
  std::optional<std::string> max_surge;        ///< "2" or "25%".
  std::optional<std::string> max_unavailable;  ///< "1" or "25%".
  std::optional<std::string> update_pool;      ///< A pool's name, `prefill` or `decode`.
};

/// The update of the instances of a pool (or "prefill", "decode"; empty: all are alike); nothing
/// where the section leaves them as they are.
[[nodiscard]] std::optional<scaling::UpdateRule> update_of(const RollingUpdateSection& section,
                                                           std::string_view pool);

/// Instances that there may be at most, at once: so many, with those of the update's surge.
[[nodiscard]] std::int64_t with_surge(const RollingUpdateSection& section,
                                      std::string_view pool,
                                      std::int64_t instances);

}  // namespace ridgeline::scenario
