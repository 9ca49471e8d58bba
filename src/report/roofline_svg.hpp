#pragma once

#include <string>
#include <vector>

#include "core/units.hpp"
#include "latency/kernel/formats_in_use.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::report {

/// The ceilings of a roofline and what it is about.
struct Roofline {
  std::string title;     ///< "llama-3.1-8b on H100: 64 decodes, kernel model"
  std::string subtitle;  ///< May be empty.
  std::vector<latency::kernel::FormatPeak> peaks;  ///< Formats in use, ascending.
  core::BytesPerSecond bandwidth;
  std::string shares = "share of the step's time";  ///< What the marks' areas are.
};

/// Pixels of the picture.
inline constexpr double kRooflineWidth = 960.0;
inline constexpr double kRooflineHeight = 600.0;

/// The operators of a step under the device's rooflines, one for each number format in use
/// (Williams, Waterman and Patterson, 2009): FLOP per byte against achieved FLOP per second on
/// logarithmic axes, the area of a mark by its share of the time. Operators that do no arithmetic
/// have no place there and are named below. Self-contained, no scripts, readable on light and dark
/// pages. There is a peak; peaks and bandwidth must be positive.
[[nodiscard]] std::string roofline_svg(const Roofline& roofline,
                                       const latency::Explanation& explanation);
/// The roofline as an element of a picture of that size.
[[nodiscard]] std::string roofline_marks(const Roofline& roofline,
                                         const latency::Explanation& explanation);

}  // namespace ridgeline::report
