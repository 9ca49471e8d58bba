#include "cluster/admission/rules.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/math.hpp"
#include "routing/scorers/candidate.hpp"

namespace ridgeline::admission {

bool ProbabilisticAdmitter::admits(std::int64_t priority, double saturation, double uniform) const {
  if (priority >= 0 || saturation <= 0.0) {
    return true;
  }
  return uniform >= std::min(k * core::pow(saturation, power), 1.0);
}

bool TierShed::admits(std::int64_t priority, routing::Candidates candidates) const {
  const auto load = [](const routing::Candidate& one) {
    return one.gauges.waiting + one.gauges.running + one.inflight_requests;
  };
  return routing::extent_of(candidates, load).highest <= static_cast<double>(threshold) ||
         priority >= lowest_priority;
}

std::vector<double> priority_ceilings(const std::vector<std::int64_t>& priorities,
                                      double lowest,
                                      double highest,
                                      bool by_value) {
  std::vector<double> ceilings;
  const double span = highest - lowest;
  const std::size_t count = priorities.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto above_last = static_cast<double>(priorities[i] - priorities.back());
    const auto whole = static_cast<double>(priorities.front() - priorities.back());
    const double share = count == 1  ? 1.0
                         : !by_value ? 1.0 - static_cast<double>(i) / static_cast<double>(count - 1)
                         : whole > 0.0 ? above_last / whole
                                       : 1.0;
    ceilings.push_back(lowest + span * share);
  }
  return ceilings;
}

}  // namespace ridgeline::admission
