#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cluster/scaling/scaler.hpp"
#include "core/time.hpp"

namespace ridgeline::scaling {

/// What hpa and keda hold on target, of each replica.
enum class Metric : std::uint8_t {
  kRequests,
  kWaiting,
  kRunning,
  kKvUsage,
  kQueuedTokens,
  kBusy,
  kInFlightTokens,
  kTtft,
  kTpot,
};
/// What users call them: waiting and running together, and so on; tokens in KV blocks and of
/// prompts that wait; seconds to the first token and per later token.
inline constexpr std::array<std::string_view, 9> kMetricNames = {"requests",
                                                                 "waiting",
                                                                 "running",
                                                                 "kv-usage",
                                                                 "queued-tokens",
                                                                 "busy",
                                                                 "in-flight-tokens",
                                                                 "ttft",
                                                                 "tpot"};

/// Whether it is a latency of requests that have ended: one number for all replicas together.
[[nodiscard]] constexpr bool is_latency(Metric metric) {
  return metric == Metric::kTtft || metric == Metric::kTpot;
}
/// Whether it lies between 0 and 1.
[[nodiscard]] constexpr bool is_share(Metric metric) {
  return metric == Metric::kKvUsage || metric == Metric::kBusy;
}

/// Which latencies a reading has.
struct LatencyWindow {
  Metric metric = Metric::kTtft;
  double quantile = 0.9;
  core::Duration lasts = core::Duration::seconds(60);  ///< Requests that ended since so long count.
};

/// The least of `values` that so large a share of them does not exceed. There is one at least.
[[nodiscard]] double nearest_rank(std::vector<double> values, double quantile);

[[nodiscard]] double value_of(Metric metric, const ReplicaReading& reading);

/// How wva judges saturation: V1 by spare KV blocks and queue, V2 by tokens.
enum class Analyzer : std::uint8_t { kV1, kV2 };
inline constexpr std::array<std::string_view, 2> kAnalyzerNames = {"v1", "v2"};

/// Which thresholds dynamo-planner compares with.
enum class OptimizationTarget : std::uint8_t { kThroughput, kLatency };
inline constexpr std::array<std::string_view, 2> kOptimizationTargetNames = {"throughput",
                                                                             "latency"};

}  // namespace ridgeline::scaling
