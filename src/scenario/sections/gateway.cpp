#include "scenario/sections/gateway.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "core/time.hpp"
#include "routing/parameters.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"
#include "scenario/findings.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/admission.hpp"
#include "scenario/sections/cluster.hpp"
#include "scenario/sections/router.hpp"
#include "scenario/sections/sections.hpp"

namespace ridgeline::scenario {
namespace {

constexpr double kMaxGateways = 64;
constexpr double kMaxConnections = 1e9;
constexpr std::array<std::string_view, 3> kSplits = {"random", "session", "connection"};
constexpr std::string_view kGateways = "cluster.gateway.gateways";
constexpr std::string_view kSplit = "cluster.gateway.gateway_split";
constexpr std::string_view kConnections = "cluster.gateway.connections";
constexpr std::string_view kEventsDelay = "cluster.gateway.kv_events_delay";
constexpr std::string_view kRefresh = "cluster.gateway.refresh_metrics_interval";

// clang-format off
constexpr auto kGatewayOptions = std::to_array<Option>({
    {.path = kGateways, .flag = "gateways",
     .lowest = 1, .highest = kMaxGateways, .unset = "1",
     .help = "Gateways side by side, each with its own counts and memory", .example = "2",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.gateway.gateways; }},
    {.path = kSplit, .flag = "gateway-split", .choices = kSplits, .unset = "random",
     .help = "Which gateway gets a request: any, the session's or the connection's", .example = "session",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.gateway.gateway_split; }},
    {.path = kConnections, .flag = "connections",
     .lowest = 1, .highest = kMaxConnections, .unset = "one for each request",
     .help = "Keep-alive connections that requests without a session take in turn; a session has its own", .example = "512",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.gateway.connections; }},
    {.path = "cluster.gateway.gateway_latency", .flag = "gateway-latency", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "0s",
     .help = "From a request at the gateway to its instance", .example = "1ms",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.gateway.gateway_latency; }},
    {.path = "cluster.gateway.notice_latency", .flag = "notice-latency", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "0s",
     .help = "From a first token or an end at an instance to the gateway's own count", .example = "500us",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.gateway.notice_latency; }},
    {.path = kRefresh, .flag = "refresh-metrics-interval", .unit = "s",
     .lowest = kMinIntervalSeconds, .highest = kMaxSeconds, .unset = "50ms",
     .help = "From one reading of an instance's gauges by the gateway to the next", .example = "100ms",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.gateway.refresh_metrics_interval; }},
    {.path = kEventsDelay, .flag = "kv-events-delay", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "5ms",
     .help = "From a change of an instance's KV cache to the gateway knowing it", .example = "20ms",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.gateway.kv_events_delay; }},
});
// clang-format on

}  // namespace

std::span<const Option> gateway_options() {
  return kGatewayOptions;
}

bool reads_gauges(const ClusterSection& cluster) {
  const auto needs_gauges = [](const auto& router, const routing::RouterSetup& setup) {
    return router && (*router)->make(setup)->needs().gauges;
  };
  const auto& prefill = cluster.disaggregation.prefill_router;
  const auto setup = router_setup(cluster.router);
  return (setup && needs_gauges(routing::find_router(router_name(cluster.router)), *setup)) ||
         (prefill && needs_gauges(routing::find_router(*prefill), {})) ||
         reads_gauges_for_admission(cluster.admission);
}

void check_gateway(Findings& findings) {
  const ClusterSection& cluster = findings.scenario().run.cluster;
  const auto router = routing::find_router(router_name(cluster.router));
  const auto setup = router_setup(cluster.router);
  if (!cluster.instances || !router || !setup) {
    return;  // check_cluster() and check_router() say so.
  }
  const routing::Needs needs = (*router)->make(*setup)->needs();
  const GatewaySection& gateway = cluster.gateway;
  if (gateway.refresh_metrics_interval && !reads_gauges(cluster)) {
    findings.ignored(kRefresh, fmt::format("the policy {} reads no gauges", (*router)->name));
  }
  if (gateway.gateway_split && gateway.gateways.value_or(1) == 1) {
    findings.ignored(kSplit, "there is one gateway");
  }
  const bool by_connection =
      gateway.gateway_split == "connection" ||
      std::ranges::any_of(cluster.router.parameters, [](const routing::NamedValue& value) {
        return value.name == "affinity" && value.value.is_string() &&
               value.value.as_string() == "connection";
      });
  if (gateway.connections && !by_connection) {
    findings.ignored(kConnections,
                     "neither the policy's affinity nor gateway_split goes by connection");
  }
  if (gateway.kv_events_delay && !needs.cache) {
    findings.ignored(kEventsDelay,
                     fmt::format("the policy {} reads no KV events", (*router)->name));
  }
}

}  // namespace ridgeline::scenario
