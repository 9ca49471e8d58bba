#include "sim/fleet.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cluster/cluster.hpp"
#include "cluster/gateway.hpp"
#include "cluster/part.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "engine/instance.hpp"
#include "engine/server.hpp"
#include "metrics/summary.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/gateway.hpp"
#include "scenario/sections/router.hpp"
#include "sim/fleet_admission.hpp"
#include "sim/fleet_disaggregation.hpp"
#include "sim/operations.hpp"

namespace ridgeline::sim {
namespace {

constexpr core::Blocks kNullBlock{1};  ///< Holds no tokens.

}  // namespace

std::unique_ptr<cluster::Cluster> make_cluster(const scenario::Resolved& resolved,
                                               const engine::InstanceInputs& instance,
                                               const FleetControls& controls,
                                               std::vector<cluster::PartMaker> parts) {
  const scenario::ClusterSection& section = resolved.run.cluster;
  const scenario::GatewaySection& gateway = section.gateway;
  cluster::GatewayTimes times{.gateway_latency = gateway.gateway_latency.value_or(core::Duration()),
                              .notice_latency = gateway.notice_latency.value_or(core::Duration())};
  times.refresh_interval = gateway.refresh_metrics_interval.value_or(times.refresh_interval);
  times.kv_events_delay = gateway.kv_events_delay.value_or(times.kv_events_delay);
  const auto router = routing::find_router(scenario::router_name(section.router));
  auto setup = scenario::router_setup(section.router);
  RIDGELINE_CHECK(router.has_value() && setup.has_value(), "a scenario's rules look its policy up");
  setup->block_tokens = resolved.deployment->engine.block_size.value();
  setup->gateways = gateway.gateways.value_or(1);
  const auto make_all = [make = (*router)->make, setup = *setup] {
    cluster::Gateway::Routers all;
    routing::RouterSetup one = setup;
    for (one.gateway = 0; one.gateway < one.gateways; ++one.gateway) {
      all.push_back(make(one));
    }
    return all;
  };
  cluster::Gateway::Routers routers = make_all();
  cluster::ClusterInputs inputs{.instance = instance,
                                .num_instances = num_places(resolved),
                                .router = std::move(routers.front()),
                                .times = times,
                                .seed = static_cast<std::uint64_t>(resolved.run.seed),
                                .eager = controls.eager,
                                .threads = controls.threads,
                                .parts = std::move(parts)};
  routers.erase(routers.begin());
  inputs.more_routers = std::move(routers);
  inputs.split = gateway.gateway_split == "session" ? cluster::GatewaySplit::kSession
                                                    : cluster::GatewaySplit::kRandom;
  inputs.decisions = controls.decisions;
  if (controls.audit) {
    inputs.audit = make_all();
  }
  add_operations(resolved, make_all, inputs);
  return std::make_unique<cluster::Cluster>(std::move(inputs));
}

/// What the requests of a cluster's instances do not say.
void fill_fleet(const scenario::Resolved& resolved,
                const cluster::Cluster& cluster,
                const FleetParts& parts,
                metrics::Summary& summary) {
  metrics::FleetSummary& fleet = *summary.fleet;
  const auto share = [](double part, double whole) {
    return whole > 0.0 ? std::optional(part / whole) : std::nullopt;
  };
  const cluster::RoutingTotals& routing = cluster.routing();
  fleet.router = scenario::router_name(resolved.run.cluster.router);
  fleet.decisions = routing.decisions;
  fleet.ties = routing.ties;
  for (std::size_t i = 0; i < routing::kNumReasons; ++i) {
    if (routing.by_reason[i] > 0) {
      fleet.by_reason.emplace_back(routing::name(static_cast<routing::Reason>(i)),
                                   routing.by_reason[i]);
    }
  }
  fleet.regret = cluster.regret();
  if (fleet.regret) {
    fleet.hit_lost_tokens = cluster.hit_lost().value();
  }
  if (cluster.reads_gauges()) {
    fleet.age_ms =
        share(routing.gauge_age.to_milliseconds(), static_cast<double>(routing.decisions));
  }
  fill_admission(resolved, parts.admission, fleet);
  const auto blocks =
      static_cast<double>((resolved.deployment->engine.num_gpu_blocks - kNullBlock).value());
  for (std::size_t i = 0; i < fleet.instances.size(); ++i) {
    const engine::EngineTotals totals =
        cluster.totals_of(core::InstanceId(static_cast<core::InstanceId::Rep>(i)));
    metrics::InstanceSummary& instance = fleet.instances[i];
    instance.busy = share(totals.busy.to_seconds(), summary.duration_s.value_or(0.0));
    instance.kv_peak = share(static_cast<double>(totals.peak_used_blocks.value()), blocks);
    instance.prefix_hit_rate = share(static_cast<double>(totals.prefix_hits.value()),
                                     static_cast<double>(totals.prefix_queries.value()));
  }
  fill_transfers(resolved, parts.disaggregation, fleet);
  fill_operations(resolved, cluster, summary);
}

}  // namespace ridgeline::sim
