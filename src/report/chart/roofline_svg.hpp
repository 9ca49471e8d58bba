#pragma once

#include <string>
#include <vector>

namespace ridgeline::report {

/// An operator of a step.
struct RooflinePart {
  std::string name;
  std::string phase;  ///< "decode", "prefill"; of both: another.
  double flops = 0.0;
  double bytes = 0.0;
  double seconds = 0.0;
};

/// The peak of a number format in FLOP per second.
struct RooflinePeak {
  std::string format;
  double peak = 0.0;
};

/// The ceilings of a roofline and what it is about.
struct Roofline {
  std::string title;                ///< "llama-3.1-8b on H100: 64 decodes, kernel model"
  std::string subtitle;             ///< May be empty.
  std::vector<RooflinePeak> peaks;  ///< Formats in use, ascending.
  double bandwidth = 0.0;           ///< Bytes per second.
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
                                       const std::vector<RooflinePart>& parts);
/// The roofline as an element of a picture of that size.
[[nodiscard]] std::string roofline_marks(const Roofline& roofline,
                                         const std::vector<RooflinePart>& parts);

}  // namespace ridgeline::report
