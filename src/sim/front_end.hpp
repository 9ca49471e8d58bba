#pragma once

#include <optional>

#include "core/result.hpp"
#include "metrics/summary.hpp"
#include "metrics/work_done.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::sim {

/// The codes of front_end_warning().
inline constexpr const char* kFrontEndBound = "W-front-end";
inline constexpr const char* kFrontEndNear = "W-front-end-near";

/// Where the API processes were at work for nearly all of the time that the engine spent in steps:
/// they, not the GPUs, set the rate of tokens then (engine::HostTime::front). Or, unless the
/// scenario states serving.frontend_output_time, where they would on a host of the usual speed,
/// which is about half of what the default stands for. Nothing otherwise, and for pools that
/// differ.
[[nodiscard]] std::optional<core::Warning> front_end_warning(const scenario::Resolved& resolved,
                                                             const metrics::Summary& summary,
                                                             const metrics::WorkDone& work);

}  // namespace ridgeline::sim
