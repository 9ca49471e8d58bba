#pragma once

#include <cstdint>

#include "core/time.hpp"

namespace ridgeline::faults {

/// How a hang is noticed: the instance is asked at every multiple of the interval, and is restarted
/// when it has not answered so many times in a row (Kubernetes' defaults of a probe).
struct HealthCheck {
  core::Duration interval = core::Duration::seconds(10);
  std::int64_t failures = 3;

  /// When a hang that begins at `since` is noticed: the check of that very instant is missed.
  [[nodiscard]] core::SimTime noticed(core::SimTime since) const {
    const core::Duration past = core::Duration::ticks(since.count() % interval.count());
    const core::Duration first = past == core::Duration() ? past : interval - past;
    return core::SimTime::saturating_sum(
        since,
        core::Duration::saturating_sum(first,
                                       core::Duration::saturating_product(interval, failures - 1)));
  }

  friend bool operator==(const HealthCheck&, const HealthCheck&) = default;
};

}  // namespace ridgeline::faults
