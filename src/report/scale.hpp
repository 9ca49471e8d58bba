#pragma once

namespace ridgeline::report {

/// From a share to percent, and from seconds to milliseconds.
inline constexpr double kPerCent = 100.0;
inline constexpr double kMillisecondsPerSecond = 1000.0;

}  // namespace ridgeline::report
