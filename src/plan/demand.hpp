#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::plan {

/// What one request asks for.
struct SampledRequest {
  std::int64_t input = 0;   ///< Tokens of the prompt.
  std::int64_t output = 0;  ///< Tokens of the answer.
};

/// What a question's workload asks of the whole system, from its first requests.
struct Demand {
  /// Requests per second; 0 in a closed loop. Of a trace all of them over the time from the first
  /// to the last, where those that wait for answers come as if answers took no time: what `trace`
  /// says of the file.
  double rate = 0.0;
  /// Sessions that start per second, where requests are turns of sessions.
  std::optional<double> session_rate = {};
  std::optional<std::int64_t> clients = {};  ///< Clients of a closed loop.
  double mean_input = 0.0;                   ///< Tokens, without what is spared.
  double mean_output = 0.0;
  double input_scv = 0.0;  ///< Squared coefficient of variation of the prompts' lengths.
  /// Tokens of each prompt that a shared prefix of the workload leaves cached; in a trace, on
  /// average, what a cache without end would find.
  std::int64_t spared = 0;
  bool names_prompts = false;  ///< How much is found depends on the prompt, as with a trace's.
  std::string trace = {};      ///< Name of the trace's file; empty without one.
  std::optional<std::int64_t> trace_requests = {};  ///< Requests of a trace.
  double trace_seconds = 0.0;                       ///< How long it lasts.
  /// Squared coefficient of variation of the times between arrivals: 1 at random.
  double interval_scv = 1.0;
  /// The sampled requests in the order of what their latencies, each alone, grow with: the prompt;
  /// for TPOT the same, those without a second token first; for E2E the answer.
  std::vector<SampledRequest> by_input = {};
  std::vector<SampledRequest> by_context = {};
  std::vector<SampledRequest> by_output = {};

  /// Requests until each of the workload's prefixes was asked for: a load that goes on is not
  /// judged by them. 0 of a trace, which is what it is.
  std::int64_t warm_up = 0;
  /// What the simulation of a request costs, in those of one whose KV stays on the GPUs: tiers look
  /// at every block of every prompt.
  double request_cost = 1.0;

  /// Tokens of prompts, cached ones too, and answers for each token of an answer.
  [[nodiscard]] double tokens_per_output_token() const {
    return (mean_input + static_cast<double>(spared) + mean_output) / mean_output;
  }
  /// What the load is counted in: requests per second, or clients.
  [[nodiscard]] double load() const { return clients ? static_cast<double>(*clients) : rate; }
  /// The load by its name: "5 req/s", "7.8 req/s in 2 sessions/s", "64 clients".
  [[nodiscard]] std::string text() const;
};

/// Requests looked at.
inline constexpr std::int64_t kSampledRequests = 10'000;
/// Fewer requests of a trace have no 99th percentile.
inline constexpr std::int64_t kLeastOfATrace = 100;
/// From this Demand::interval_scv on, requests come in bursts.
inline constexpr double kBurstyScv = 4.0;

/// Reads the beginning of the workload, and all of a trace. Fails as opening it does, for a
/// workload with neither rate nor clients or with both, for a trace that is too short, and for one
/// whose number of requests depends on how long answers take.
[[nodiscard]] core::Result<Demand> demand_of(const scenario::Resolved& resolved);

}  // namespace ridgeline::plan
