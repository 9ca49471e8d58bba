#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "document/document.hpp"
#include "report/chart/lanes.hpp"

namespace ridgeline::report::figures {

/// The distribution of a latency over time as shades, with its median, its 99th percentile and its
/// greatest value as lines: read from bins, for the eye.
struct HeatLane {
  std::vector<double> p50;  ///< Milliseconds per window; 0 of a window without requests.
  std::vector<double> p99;
  std::vector<double> greatest;
};

/// Milliseconds within which 99 % of the requests of each `rows` histograms together are, rounded
/// up to the end of a bin; 0 where there are none.
[[nodiscard]] std::vector<double> p99_at_most(const document::Node& result,
                                              std::string_view key,
                                              std::size_t rows);

/// Draws the latency `key` of series.latency_counts in a lane, with the target of summary.slo.
HeatLane draw_heat(const document::Node& result,
                   std::string_view key,
                   std::size_t lane,
                   std::string_view name,
                   Lanes& lanes);

}  // namespace ridgeline::report::figures
