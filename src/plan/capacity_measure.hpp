#pragma once

#include "sweep/measure.hpp"

namespace ridgeline::plan {

/// `measure: capacity` of a sweep: the highest rate at which one deployment meets the scenario's
/// `slo`, by runs of 32,000 requests each. Refuses scenarios without targets.
[[nodiscard]] sweep::Measure capacity_measure();

}  // namespace ridgeline::plan
