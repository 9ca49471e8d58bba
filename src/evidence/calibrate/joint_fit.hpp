#pragma once

#include <optional>
#include <vector>

#include "evidence/calibrate/observations.hpp"
#include "evidence/calibrate/parameters.hpp"

namespace ridgeline::evidence::calibrate {

/// Where a constant lies in nine cases of ten.
struct Interval {
  double lowest = 0.0;
  double highest = 0.0;
};

/// Intervals of constants that were fitted with the model's kernels as they are. What a constant
/// explains, kernels that are not quite the model's may explain as well, so constants and kernels
/// are fitted together: by Gauss-Newton, where the logarithms of the kernels' times are normal with
/// Observations::kernel_spread(), from the fitted constants and from the built-in ones. An interval
/// holds the fitted value and the intervals of all such fits that explain the figures about as
/// well. Requires more figures than constants.
[[nodiscard]] std::vector<Interval> joint_intervals(const Observations& observations,
                                                    const Constants& fitted);

}  // namespace ridgeline::evidence::calibrate
