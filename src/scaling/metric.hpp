#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "scaling/scaler.hpp"

namespace ridgeline::scaling {

/// What hpa and keda hold on target, of each replica.
enum class Metric : std::uint8_t { kRequests, kWaiting, kRunning, kKvUsage, kQueuedTokens, kBusy };
/// What users call them: waiting and running together, and so on.
inline constexpr std::array<std::string_view, 6> kMetricNames = {
    "requests", "waiting", "running", "kv-usage", "queued-tokens", "busy"};

[[nodiscard]] double value_of(Metric metric, const ReplicaReading& reading);

/// How wva judges saturation: V1 by spare KV blocks and queue, V2 by tokens.
enum class Analyzer : std::uint8_t { kV1, kV2 };
inline constexpr std::array<std::string_view, 2> kAnalyzerNames = {"v1", "v2"};

/// Which thresholds dynamo-planner compares with.
enum class OptimizationTarget : std::uint8_t { kThroughput, kLatency };
inline constexpr std::array<std::string_view, 2> kOptimizationTargetNames = {"throughput",
                                                                             "latency"};

}  // namespace ridgeline::scaling
