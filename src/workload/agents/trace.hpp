#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "workload/traces/reading/fields.hpp"

/// Recorded coding sessions ("agent traces"), and what a load generator makes of them.
namespace ridgeline::workload::agents {

/// Ids of the full blocks of a prompt, in order; they mean something inside one trace.
using Blocks = std::vector<std::uint32_t>;

/// What the new input of a request is.
enum class InputKind : std::uint8_t { kUnknown, kUser, kToolResult };

/// One recorded request.
struct TraceRequest {
  core::Duration start;                         ///< From the start of the trace.
  std::optional<core::Duration> api_time = {};  ///< From its start to the end of its answer.
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int32_t model = 0;  ///< In Trace::models.
  InputKind input_kind = InputKind::kUnknown;
  InputKind next_input = InputKind::kUnknown;  ///< What its stop reason says of the next one.
  Blocks blocks;

  [[nodiscard]] core::Duration end() const { return start + api_time.value_or(core::Duration()); }
};

/// Requests of an agent that the main agent started.
struct SubAgent {
  std::string id;
  core::Duration start;
  std::optional<core::Duration> duration;  ///< None where it was launched without waiting.
  std::int64_t prefix_tokens = 0;          ///< Declared tools and system text of its first prompt.
  std::vector<TraceRequest> requests;      ///< Their starts count from the start of the trace.
};

/// A request of the main list, or a sub-agent (index into either list).
struct TraceEntry {
  bool is_sub_agent = false;
  std::uint32_t index = 0;
};

struct Trace {
  std::string id;
  std::int64_t block_size = 0;
  std::int64_t prefix_tokens = 0;
  std::vector<std::string> models;  ///< In order of first appearance.
  std::vector<TraceRequest> requests;
  std::vector<SubAgent> sub_agents;
  std::vector<TraceEntry> entries;  ///< As they stand in the file.
};

/// Reads one trace, a JSON object. Unknown keys are problems, as for the program that replays them.
/// On a problem it is noted in the line's errors, and the result is nothing.
[[nodiscard]] std::optional<Trace> read_trace(const TraceLine& line);

/// The largest sum of a request's prompt and answer: what the context window must hold.
[[nodiscard]] std::int64_t peak_context(const Trace& trace);

}  // namespace ridgeline::workload::agents
