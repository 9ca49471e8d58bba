#pragma once

#include <string>

#include "metrics/operations_summary.hpp"
#include "report/palette.hpp"
#include "report/tree.hpp"

namespace ridgeline::report {

/// Adds `scaling`, `faults` and `retries` to summary.cluster, where there are some.
void add_operations(const metrics::OperationsSummary& operations, MapBuilder& cluster);
/// A line for each of them.
[[nodiscard]] std::string operations_lines(const metrics::OperationsSummary& operations,
                                           const TextStyle& style);

}  // namespace ridgeline::report
