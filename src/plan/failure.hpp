#pragma once

#include <vector>

#include "plan/answer.hpp"
#include "plan/points.hpp"
#include "plan/race.hpp"

namespace ridgeline::plan {

/// Says of an answer without a pick why there is none: in one line what kills how many points, and
/// the nearest misses.
void explain_failure(const Points& points,
                     const std::vector<Contender>& contenders,
                     Answer& answer);

}  // namespace ridgeline::plan
