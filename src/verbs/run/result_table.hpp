#pragma once

#include <string>

#include "report/palette.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {

/// A run on one screen: latencies as rows in one unit each, targets and verdicts where there are
/// any, throughput, KV cache, where the time went, warnings, cost and digest. 48 to 100 columns;
/// where the terminal is narrower the p90 goes first, then the mean, the median and the maximum.
[[nodiscard]] std::string result_table(const RunResult& result, const report::TextStyle& style);

}  // namespace ridgeline::verbs
