#pragma once

#include <string>

#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {

/// The summary as a line of column names and a line of values, nested keys joined by dots
/// ("ttft_ms.p99"), then every setting ("config.engine.tensor_parallel_size"), the digest last.
/// Full precision; an absent number is an empty field (RFC 4180).
[[nodiscard]] std::string summary_csv(const RunResult& result);

}  // namespace ridgeline::verbs
