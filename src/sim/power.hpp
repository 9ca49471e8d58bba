#pragma once

#include <optional>

#include "metrics/power_summary.hpp"
#include "metrics/summary.hpp"
#include "metrics/work_done.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::sim {

/// What the GPUs of a run drew. Nothing where instances differ (several pools), where the
/// step-time model cannot tell FLOPs and bytes, or where the GPU's power limit is not known.
[[nodiscard]] std::optional<metrics::PowerSummary> power_of(const scenario::Resolved& resolved,
                                                            const metrics::Summary& summary,
                                                            const metrics::WorkDone& work);

}  // namespace ridgeline::sim
