#pragma once

#include <optional>

#include "core/result.hpp"
#include "metrics/summary.hpp"
#include "metrics/work_done.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::sim {

/// The code of front_end_warning().
inline constexpr const char* kFrontEndBound = "W-front-end";

/// Where the API processes were at work for nearly all of the time that the engine spent in steps:
/// they, not the GPUs, set the rate of tokens then (engine::HostTime::front). Nothing otherwise,
/// and for pools that differ.
[[nodiscard]] std::optional<core::Warning> front_end_warning(const scenario::Resolved& resolved,
                                                             const metrics::Summary& summary,
                                                             const metrics::WorkDone& work);

}  // namespace ridgeline::sim
