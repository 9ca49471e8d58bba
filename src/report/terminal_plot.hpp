#pragma once

#include <string>
#include <vector>

#include "report/palette.hpp"
#include "report/run_result.hpp"

namespace ridgeline::report {

/// A run with `series` in a few lines of a terminal: how TTFT and TPOT are spread, and requests
/// running and waiting, KV and tokens over time. Scales stand at both ends; a logarithmic one says
/// so. Empty without series, or where nothing came of the run.
[[nodiscard]] std::string terminal_plot(const RunResult& result, const TextStyle& style);

/// A character per value, as high as the value is of the greatest; of all zeros the lowest.
[[nodiscard]] std::string sparkline(const std::vector<double>& values, bool ascii);

}  // namespace ridgeline::report
