#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/source.hpp"

namespace ridgeline::workload {

/// What one reading of a whole trace tells.
struct TraceScan {
  std::string_view format;  ///< The name in the table of formats, e.g. "azure-llm-csv".
  std::int64_t requests = 0;
  core::Duration first_arrival;
  core::Duration last_arrival;
  core::Tokens input_tokens;   ///< Sum.
  core::Tokens output_tokens;  ///< Sum.
  core::Tokens longest_input;
  core::Tokens longest_output;
};

struct TraceOptions {
  /// Where in the trace to begin: rows before this time are left out, and time counts from it.
  core::Duration start;
  /// The most requests to replay, after `start`; all of them by default.
  std::optional<std::int64_t> num_prompts;
  /// How many times faster than recorded: arrivals are divided by it. Exact picoseconds at 1,
  /// rounded once otherwise.
  double speed_up = 1.0;
};

/// Reads a trace once from end to end, in constant memory. The format is found by content. Fails
/// with the first problems (kMaxTraceProblems of them at most), each with line, column, what was
/// found and expected.
core::Result<TraceScan> scan_trace(const std::string& path);

/// A trace as a stream of requests, read lazily; each generates exactly the tokens that the trace
/// states. The whole file is scanned first, so that a bad row refuses the run instead of ending it.
/// A problem that appears later (the file changed in between) ends the stream and stands in
/// errors().
core::Result<std::unique_ptr<Source>> open_trace(const std::string& path,
                                                 const TraceOptions& options = {});

}  // namespace ridgeline::workload
