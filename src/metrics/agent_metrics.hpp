#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"

/// Metrics of agent replays under the names of agentx-harness and of the scoreboard of InferenceX
/// (utils/agentic/aggregation at 843c6254f; both Apache-2.0).
namespace ridgeline::metrics {

/// A request as a line of the harness's profile_export.jsonl states it. Times are nanoseconds since
/// any zero.
struct AgentRecord {
  bool is_profiling = true;  ///< Lines without a phase are.
  bool is_cancelled = false;
  bool is_context_overflow = false;
  std::string error = {};  ///< What kind of error; empty: none.
  std::string conversation = {};
  std::string session = {};  ///< One play of a conversation.
  std::int64_t turn = 0;
  std::int64_t issued = 0;  ///< When it was to be sent.
  std::int64_t start = 0;
  std::int64_t end = 0;  ///< The end of the answer's transfer.
  std::optional<std::int64_t> input = {};
  std::optional<std::int64_t> output = {};
  std::optional<double> ttft_ms = {};
  std::optional<double> latency_ms = {};  ///< Until the last token.
  std::optional<double> itl_ms = {};
  std::optional<double> full_itl_ms = {};  ///< Until the end of the transfer.

  /// Sets the gaps between tokens from the other times, as the harness defines them.
  void set_gaps();
  /// Whether it counts in a result.
  [[nodiscard]] bool counts() const { return is_profiling && error.empty() && !is_cancelled; }
};

/// Reads a record. Keys that are not known are stepped over: releases add some.
[[nodiscard]] AgentRecord agent_record(const document::Node& line, core::Errors& errors);
[[nodiscard]] document::Node agent_record_node(const AgentRecord& record);

/// The rate at which a cache that evicts nothing would have been hit, in blocks.
struct TheoreticalHits {
  std::int64_t hits = 0;
  std::int64_t blocks = 0;
};

/// request_metrics of a row: rates, latencies in seconds, interactivity (tokens per second and
/// user), tokens, throughput, also per GPU.
[[nodiscard]] document::Node agent_request_metrics(std::span<const AgentRecord> records,
                                                   std::int64_t gpus,
                                                   const std::optional<TheoreticalHits>& hits);
/// request_accounting of a row: what is counted and what is not.
[[nodiscard]] document::Node agent_accounting(std::span<const AgentRecord> records);

/// What the benchmark's environment says of a row: CONC, TP, PREFILL_NUM_WORKERS, ...
using AgentEnvironment = std::map<std::string, std::string, std::less<>>;
[[nodiscard]] core::Result<std::int64_t> agent_gpus(const AgentEnvironment& environment);

/// A row of the scoreboard. Fails where the environment holds no number where one is due.
[[nodiscard]] core::Result<document::Node> agent_row(std::span<const AgentRecord> records,
                                                     const AgentEnvironment& environment,
                                                     const std::optional<TheoreticalHits>& hits,
                                                     const std::vector<std::string>& warnings);

/// The harness's own report (profile_export_aiperf.json), as far as records say it: each metric
/// with its unit and statistics, in milliseconds. `phase_seconds` is how long the phase was
/// observed, by which it divides sums.
[[nodiscard]] document::Node agent_report(std::span<const AgentRecord> records,
                                          double phase_seconds,
                                          const std::optional<TheoreticalHits>& hits);

/// Price of a million tokens on GPUs that make so many per second and GPU.
[[nodiscard]] constexpr double cost_per_million_tokens(double price_per_gpu_hour,
                                                       double tokens_per_second_per_gpu) {
  return price_per_gpu_hour / (tokens_per_second_per_gpu * 3600.0) * 1e6;
}

}  // namespace ridgeline::metrics
