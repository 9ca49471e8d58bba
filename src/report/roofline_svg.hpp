#pragma once

#include <string>

#include "core/units.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::report {

/// The ceilings of a roofline and what it is about.
struct Roofline {
  std::string title;     ///< "llama-3.1-8b on H100: 64 decodes, kernel model"
  std::string subtitle;  ///< May be empty.
  core::FlopsPerSecond peak;
  core::BytesPerSecond bandwidth;
};

/// The operators of a step under the device's roofline (Williams, Waterman and Patterson, 2009):
/// FLOP per byte against achieved FLOP per second on logarithmic axes, the area of a mark by its
/// share of the time. Operators that do no arithmetic have no place there and are named below.
/// Self-contained, no scripts, readable on light and dark pages. Peak and bandwidth must be
/// positive.
[[nodiscard]] std::string roofline_svg(const Roofline& roofline,
                                       const latency::Explanation& explanation);

}  // namespace ridgeline::report
