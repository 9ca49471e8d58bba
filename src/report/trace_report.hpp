#pragma once

#include <string>

#include "document/document.hpp"
#include "report/palette.hpp"
#include "workload/trace_stats.hpp"

namespace ridgeline::report {

/// A workload described: {schema_version, format, requests, duration_s, request_rate, burstiness,
/// input_tokens, output_tokens, sessions, block_reuse, ...}.
[[nodiscard]] document::Node trace_tree(const workload::TraceStats& stats);
[[nodiscard]] std::string trace_table(const workload::TraceStats& stats, const TextStyle& style);

/// Pictures of the rate over time, of input and output lengths, and of the hit rate by cache size.
/// `name` is the trace, without its folder.
[[nodiscard]] std::string trace_svg(const workload::TraceStats& stats, const std::string& name);

}  // namespace ridgeline::report
