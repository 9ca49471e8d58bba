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

}  // namespace ridgeline::scenario
