#pragma once

#include <cstddef>

#include "metrics/fine_counts.hpp"
#include "metrics/series.hpp"
#include "metrics/timeline.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::sim {

/// A timeline of at most `windows` windows for a run of the scenario, with its targets and warm-up.
[[nodiscard]] metrics::TimelineOptions timeline_options(const scenario::Resolved& resolved,
                                                        const metrics::SloTargets& slo,
                                                        std::size_t windows);

/// What the timeline gathered, with the quantiles and with the KV that the instances hold.
[[nodiscard]] metrics::Series series_of(const scenario::Resolved& resolved,
                                        const metrics::Timeline& timeline,
                                        const metrics::QuantileCurves& curves);

}  // namespace ridgeline::sim
