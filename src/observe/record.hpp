#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/time.hpp"
#include "domain/request.hpp"
#include "observe/answer_reader.hpp"
#include "observe/metrics_page.hpp"
#include "observe/prompts.hpp"

/// The record of a measurement: JSON lines. The first says what was measured; one line for each
/// request, in the order in which they ended, and for each look at the server's metrics; the last
/// one says how the measurement went. Times are in seconds since its start, latencies in
/// milliseconds since the request was sent.
namespace ridgeline::observe {

inline constexpr std::int64_t kRecordVersion = 1;
/// RecordTail::ended_by where the user ended it.
inline constexpr std::string_view kInterrupted = "interrupt";

/// "2026-11-26T19:31:31Z" of nanoseconds since 1970.
[[nodiscard]] std::string utc_text(std::int64_t unix_ns);

/// What is known before the first request.
struct RecordHead {
  std::string target;
  std::string started;  ///< Date and time, UTC.
  std::string server_version;
  std::vector<std::string> models;  ///< That the server names.
  ServerMetrics metrics;            ///< Before the first request.
  std::string model;                ///< That was asked.
  /// What the flags say of the server, by the path of the scenario: "gpu", "h100".
  std::vector<std::pair<std::string, std::string>> deployment;
  std::string workload_digest;
  std::vector<std::pair<std::string, std::string>> workload;  ///< By the scenario's paths.
  Endpoint endpoint = Endpoint::kCompletions;
  PromptForm form = PromptForm::kWords;
  Overhead overhead;
  std::uint64_t salt = 0;
  bool natural_output = false;
  std::string client_version;
  std::optional<core::Duration> round_trip = {};  ///< The network's; nothing: not measured.
  bool is_loopback = false;                       ///< The server is on this machine.
};
[[nodiscard]] std::string head_line(const RecordHead& head);

/// One request.
struct Row {
  domain::Request request;
  std::int32_t stage = 0;
  core::SimTime due;                       ///< When the workload sends it.
  std::optional<core::SimTime> sent = {};  ///< Its first byte; nothing: it was never sent.
  core::Duration connect = {};             ///< To open its connection.
  core::Duration held = {};                ///< By the client's own limits.
  std::int32_t attempt = 1;                ///< 2: sent again, since an open connection was dead.
  int status = 0;
  bool connection_failed = false;
  bool is_warm_up = false;
  bool tells_prompt = false;  ///< Whether the prompt's segments are written.
  Answer answer = {};

  [[nodiscard]] bool failed() const { return !answer.error.empty(); }
  /// How much later than due it was sent, beyond what it was held and its connection took.
  [[nodiscard]] core::Duration lag() const;
};
[[nodiscard]] std::string row_line(const Row& row);

[[nodiscard]] std::string scrape_line(core::SimTime time, const ServerMetrics& metrics);

/// What is known at the end.
struct RecordTail {
  bool partial = false;                   ///< It ended before the workload did ...
  std::string ended_by = {};              ///< ... by this: "interrupt", "errors>5%".
  std::vector<std::string> unsound = {};  ///< Why its times are not to be trusted; empty: they are.
  double duration_s = 0.0;
  std::int64_t sent = 0;
  std::int64_t unfinished = 0;  ///< Sent, and without an end.
  std::int64_t held = 0;        ///< Requests that the client's limits held back.
  double lag_p50_ms = 0.0;
  double lag_p99_ms = 0.0;
  double lag_max_ms = 0.0;
  double cpu_share = 0.0;  ///< Share of one core for each worker that the client used.
  std::optional<core::Duration> round_trip = {};  ///< As in RecordHead, after the last answer.
  ServerMetrics metrics = {};                     ///< The server's, after the last answer.
};
[[nodiscard]] std::string tail_line(const RecordTail& tail);

}  // namespace ridgeline::observe
