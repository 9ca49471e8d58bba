#pragma once

#include "core/time.hpp"

namespace ridgeline::workload::agents {

/// Recorded times that lie no further apart than this touch.
inline constexpr core::Duration kTouch = core::Duration::microseconds(1);

/// A time as the replayed program keeps it, so that times that touch compare as they do there.
[[nodiscard]] inline double milliseconds(core::Duration time) {
  return time.to_seconds() * 1000.0;
}

}  // namespace ridgeline::workload::agents
