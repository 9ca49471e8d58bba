#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/request_story.hpp"
#include "core/result.hpp"
#include "metrics/request_metrics.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {

/// A file with one record per request in order of arrival, written while the run goes on: what is
/// kept are the requests from the oldest one under way on. It is a trace of the same workload,
/// which `replay` reads (formats request-jsonl and request-csv). Times are exact decimals of the
/// simulated picoseconds; where a request has no such number the field is null (JSON) or empty
/// (CSV).
///
/// Fields: request_id, arrival_s, input_tokens, output_tokens, cached_tokens, preemptions, outcome,
/// queue_time_ms, ttft_ms, tpot_ms, e2e_ms, server_ttft_ms, server_e2e_ms; max_tokens, what the
/// request asked for; session, turn, priority, images, slo_class, tenant, model, adapter. JSON
/// leaves out what a request does not have and max_tokens where it is output_tokens, and has
/// `prompt` and `group` as in request-jsonl.
///
/// A cluster's log has also: instance, where the request ended; num_attempts; the parts of ttft_ms
/// (gateway_ms, instance_queue_ms, prefill_ms, transfer_ms, delivery_ms), which sum to it; and in
/// JSON `attempts`, a list of {instance, share (whole, prefill or decode), sent_s, tokens, end_s,
/// why}.
enum class RequestLogFormat { kJsonLines, kCsv };

/// What writes each request: its record, and of a cluster its story.
class RequestLog : public metrics::Listener, public cluster::StorySink {};

/// A listener that writes each request to `out`. `out` and `source`, whose requests they are,
/// outlive it; the state of `out` says whether everything could be written. What is buffered is
/// written when the log is destroyed.
/// `of_cluster`: requests have stories, and each row has what stands above of them.
[[nodiscard]] std::unique_ptr<RequestLog> make_request_log(RequestLogFormat format,
                                                           const workload::Source& source,
                                                           std::ostream& out,
                                                           bool of_cluster = false);

/// The format that a file's name asks for: .csv, .jsonl or .ndjson; JSON lines for "-".
[[nodiscard]] core::Result<RequestLogFormat> request_log_format(std::string_view path);

}  // namespace ridgeline::sim
