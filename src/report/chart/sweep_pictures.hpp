#pragma once

#include <vector>

#include "document/document.hpp"
#include "report/chart/figure.hpp"

namespace ridgeline::report::figures {

/// Latencies and goodput of a sweep against its request rate, a line for each combination of the
/// other axes, and between which rates targets begin to be missed. `rows` as `sweep merge` writes
/// them. Without an axis of rates with two values it has no marks.
[[nodiscard]] Figure rate_curves(const std::vector<document::Node>& rows);

/// What each point of a sweep over two axes serves: the darker, the more; hatched where it misses a
/// target. Of other sweeps, and of axes with more than 40 values, it has no marks.
[[nodiscard]] Figure sweep_map(const std::vector<document::Node>& rows);

}  // namespace ridgeline::report::figures
