#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "metrics/request_metrics.hpp"

namespace ridgeline::report {

/// A file with one record per request, written while the run goes on: nothing is kept. Times are
/// exact decimals of the simulated picoseconds; where a request has no such number the field is
/// null (JSON) or empty (CSV).
///
/// Fields: request_id, arrival_s, input_tokens, output_tokens, cached_tokens, preemptions, outcome,
/// queue_time_ms, ttft_ms, tpot_ms, e2e_ms, server_ttft_ms, server_e2e_ms.
enum class RequestLogFormat { kJsonLines, kCsv };

/// A listener that writes each request to `out`, in the order in which they end. `out` outlives it;
/// its state says whether everything could be written. What is buffered is written when the log is
/// destroyed.
[[nodiscard]] std::unique_ptr<metrics::Listener> make_request_log(RequestLogFormat format,
                                                                  std::ostream& out);

/// The format that a file's name asks for: .csv, .jsonl or .ndjson; JSON lines for "-".
[[nodiscard]] core::Result<RequestLogFormat> request_log_format(std::string_view path);

}  // namespace ridgeline::report
