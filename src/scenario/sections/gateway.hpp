#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/time.hpp"

namespace ridgeline::scenario {

/// Section `cluster.gateway`: how many gateways there are, and how long and how often they take.
struct GatewaySection {
  std::optional<std::int64_t> gateways;
  std::optional<std::string> gateway_split;
  std::optional<std::int64_t> connections;
  std::optional<core::Duration> gateway_latency;
  std::optional<core::Duration> notice_latency;
  std::optional<core::Duration> refresh_metrics_interval;
  std::optional<core::Duration> kv_events_delay;
};

struct ClusterSection;
/// Whether a gateway reads the instances' gauges: for its policy, that of prefill instances, or
/// admission. The names that it looks up exist, or it does not.
[[nodiscard]] bool reads_gauges(const ClusterSection& cluster);

}  // namespace ridgeline::scenario
