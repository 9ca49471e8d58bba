#pragma once

#include <cstdint>

#include "sweep/measure.hpp"

namespace ridgeline::plan {

/// Requests of each run (planner.md, section 11).
inline constexpr std::int64_t kSweepRequests = 32'000;

/// `measure: capacity` of a sweep: the highest rate at which one deployment meets the scenario's
/// `slo`, by runs of so many requests each. Refuses scenarios without targets.
[[nodiscard]] sweep::Measure capacity_measure(std::int64_t requests = kSweepRequests);

}  // namespace ridgeline::plan
