#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/traces/fields.hpp"

namespace ridgeline::workload {

/// One request as a trace states it.
struct TraceRow {
  core::Duration
      arrival;  ///< Since the trace's own zero; negative before the first row of a clock trace.
  core::Tokens input_tokens;
  core::Tokens output_tokens;
};

/// Turns the lines of one format into rows. Each call notes every problem of its line and then
/// returns false.
class RowParser {
 public:
  virtual ~RowParser() = default;
  /// The first line of a format that has a header.
  virtual bool header(const TraceLine& line) {
    static_cast<void>(line);
    return true;
  }
  virtual bool row(const TraceLine& line, TraceRow& row) = 0;
};

/// An entry of the table of formats (registry.cpp).
struct TraceFormat {
  std::string_view name;     ///< Stable, e.g. "azure-llm-csv".
  std::string_view summary;  ///< One line for a list.
  std::string_view arrival_column;
  bool has_header;
  /// Whether a file that starts with these bytes (up to a block of it) is meant to be of this
  /// format.
  bool (*detect)(std::string_view head);
  std::unique_ptr<RowParser> (*make_parser)();
};

/// Every format that can be read, in the order in which detection asks them.
std::span<const TraceFormat> trace_formats();

/// Azure's LLM inference traces: TIMESTAMP,ContextTokens,GeneratedTokens. The first row is time
/// zero.
extern const TraceFormat kAzureLlmCsv;
/// A header with the columns arrival_s, input_tokens and output_tokens, in any order.
extern const TraceFormat kRequestCsv;
/// One JSON object a line with the keys arrival_s, input_tokens and output_tokens.
extern const TraceFormat kRequestJsonl;

}  // namespace ridgeline::workload
