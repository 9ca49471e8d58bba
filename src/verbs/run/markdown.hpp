#pragma once

#include <string>

#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {

/// The summary for a page: a table of latencies in milliseconds, a table of the other numbers, and
/// the warnings. Rounded for reading, like the terminal's table.
[[nodiscard]] std::string summary_markdown(const RunResult& result);

}  // namespace ridgeline::verbs
