#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {

/// How high each picture of terminal_plot() is: one line of characters, or four of Braille dots, a
/// column of dots per value.
enum class PlotHeight : std::uint8_t { kLine, kTall };

/// A run with `series` in a few lines of a terminal: how TTFT and TPOT are spread, and requests
/// running and waiting, KV and tokens over time. Scales stand at both ends; a logarithmic one says
/// so. Empty without series, or where nothing came of the run.
[[nodiscard]] std::string terminal_plot(const document::Node& result,
                                        const TextStyle& style,
                                        PlotHeight height = PlotHeight::kLine);

/// A character per value, as high as the value is of the greatest; of all zeros the lowest.
[[nodiscard]] std::string sparkline(const std::vector<double>& values, bool ascii);

/// Bars of four lines, from above: two values a character in Braille, one without it.
[[nodiscard]] std::vector<std::string> tall_bars(const std::vector<double>& values, bool ascii);

/// How many requests of a run lie where between the least and the greatest of a latency.
struct LatencySpread {
  std::vector<double> columns;  ///< Requests, those of a bin spread over its width.
  double low_ms = 0.0;
  double high_ms = 0.0;
  bool is_log = false;  ///< The scale, where the ends are far apart.
};
/// The spread of a latency ("ttft") of a result with series, in so many columns; none where no
/// request has it.
[[nodiscard]] std::optional<LatencySpread> latency_spread(const document::Node& result,
                                                          std::string_view latency,
                                                          std::size_t columns);

}  // namespace ridgeline::report
