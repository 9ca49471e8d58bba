#pragma once

#include <cstdint>
#include <vector>

#include "routing/scorers/candidate.hpp"

/// Rules by which gateways admit requests: llm-d's (ebab687) and inference-sim's (f90a1e3).
namespace ridgeline::admission {

/// llm-d's probabilistic admitter: a request of negative priority is shed with the probability
/// min(k s^power, 1); `uniform` is the number drawn.
struct ProbabilisticAdmitter {
  double k = 300.0;
  double power = 5.0;

  [[nodiscard]] bool admits(std::int64_t priority, double saturation, double uniform) const;
};

/// llm-d without flow control: a request of negative priority is shed when the saturation reaches
/// 1.
[[nodiscard]] constexpr bool admitted_below_saturation(std::int64_t priority, double saturation) {
  return priority >= 0 || saturation < 1.0;
}

/// inference-sim's tiers: above `threshold` requests on the busiest instance (counted twice where
/// they are in flight), only `lowest_priority` and above.
struct TierShed {
  std::int64_t threshold = 0;
  std::int64_t lowest_priority = 3;

  [[nodiscard]] bool admits(std::int64_t priority, routing::Candidates candidates) const;
};

/// Up to which saturation requests of each priority pass llm-d's flow control; priorities stand in
/// descending order. By rank the ceilings fall in equal steps from `highest` to `lowest`, by value
/// in proportion to the priority.
[[nodiscard]] std::vector<double> priority_ceilings(const std::vector<std::int64_t>& priorities,
                                                    double lowest,
                                                    double highest,
                                                    bool by_value);

}  // namespace ridgeline::admission
