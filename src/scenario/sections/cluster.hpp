#pragma once

#include <cstdint>
#include <optional>

#include "document/document.hpp"
#include "scenario/sections/admission.hpp"
#include "scenario/sections/autoscaling.hpp"
#include "scenario/sections/disaggregation.hpp"
#include "scenario/sections/faults.hpp"
#include "scenario/sections/gateway.hpp"
#include "scenario/sections/kv_offload_section.hpp"
#include "scenario/sections/kv_transfer.hpp"
#include "scenario/sections/rolling_update.hpp"
#include "scenario/sections/router.hpp"

namespace ridgeline::scenario {

inline constexpr std::int64_t kMaxInstances = 4096;

/// Section `cluster`: instances of the deployment behind a gateway, with one member per section
/// below it. Without `instances`: one instance alone.
struct ClusterSection {
  std::optional<std::int64_t> instances;     ///< In all pools, where there are some.
  std::optional<document::Node> pools = {};  ///< A list of maps (sections/pools.hpp).
  std::optional<double> spread = {};         ///< For a pool that does not say its own.
  RouterSection router = {};
  GatewaySection gateway = {};
  AdmissionSection admission = {};
  std::optional<document::Node> tenants;  ///< A list of maps, or `auto` (sections/tenants.hpp).
  DisaggregationSection disaggregation = {};
  KvTransferSection kv_transfer = {};
  KvOffloadSection kv_offload = {};
  AutoscalingSection autoscaling = {};
  RollingUpdateSection rolling_update = {};
  std::optional<document::Node> faults = {};  ///< A list, for scenario/sections/faults.hpp to read.
  RetriesSection retries = {};
  HealthCheckSection health_check = {};
  std::optional<double> price_per_hour = {};  ///< Price of each instance.
};

}  // namespace ridgeline::scenario
