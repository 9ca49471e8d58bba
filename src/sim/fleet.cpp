#include "sim/fleet.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cluster/cluster.hpp"
#include "cluster/disaggregation.hpp"
#include "cluster/gateway.hpp"
#include "cluster/operations.hpp"
#include "cluster/part.hpp"
#include "cluster/pools.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/tenants.hpp"
#include "engine/instance.hpp"
#include "engine/server.hpp"
#include "metrics/fleet.hpp"
#include "metrics/lock_step_summary.hpp"
#include "metrics/summary.hpp"
#include "routing/by_group.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"
#include "scenario/deployment.hpp"
#include "scenario/parallelism.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/faults.hpp"
#include "scenario/sections/gateway.hpp"
#include "scenario/sections/kv_transfer.hpp"
#include "scenario/sections/router.hpp"
#include "sim/fleet_admission.hpp"
#include "sim/fleet_disaggregation.hpp"
#include "sim/fleet_offload.hpp"
#include "sim/fleet_pools.hpp"
#include "sim/fleet_prediction.hpp"
#include "sim/operations.hpp"

namespace ridgeline::sim {
namespace {

constexpr core::Blocks kNullBlock{1};  ///< Holds no tokens.

}  // namespace

std::unique_ptr<cluster::Cluster> make_cluster(const scenario::Resolved& resolved,
                                               const engine::InstanceInputs& instance,
                                               const FleetControls& controls,
                                               std::vector<cluster::PartMaker> parts,
                                               FleetInstances instances,
                                               domain::Tenants& tenants) {
  const scenario::ClusterSection& section = resolved.run.cluster;
  const scenario::GatewaySection& gateway = section.gateway;
  cluster::GatewayTimes times{.gateway_latency = gateway.gateway_latency.value_or(core::Duration()),
                              .notice_latency = gateway.notice_latency.value_or(core::Duration())};
  times.refresh_interval = gateway.refresh_metrics_interval.value_or(times.refresh_interval);
  times.kv_events_delay = gateway.kv_events_delay.value_or(times.kv_events_delay);
  if (const auto faults = scenario::fault_settings(section.faults)) {
    const scenario::EventLosses losses = scenario::event_losses(*faults);
    times.longest_event_loss = losses.longest;
    times.may_forget_events = losses.may_forget;
  }
  const auto router = routing::find_router(scenario::router_name(section.router));
  auto setup = scenario::router_setup(section.router);
  RIDGELINE_CHECK(router.has_value() && setup.has_value(), "a scenario's rules look its policy up");
  setup->block_tokens = resolved.deployment->engine.block_size.value();
  setup->instance_blocks = (resolved.deployment->engine.num_gpu_blocks - kNullBlock).value();
  setup->predictor = predictor_of(resolved);
  setup->connections = gateway.connections.value_or(0);
  setup->gateways = gateway.gateways.value_or(1);
  const auto make_own = [host = controls.make_router, make = (*router)->make](
                            const routing::RouterSetup& one) { return host ? host() : make(one); };
  const auto make_all = [make = make_own, setup = *setup, num = instances.groups.members.size()] {
    cluster::Gateway::Routers all;
    routing::RouterSetup one = setup;
    for (one.gateway = 0; one.gateway < one.gateways; ++one.gateway) {
      all.push_back(num > 1 ? routing::make_by_group(num, [&] { return make(one); }) : make(one));
    }
    return all;
  };
  cluster::Gateway::Routers routers = make_all();
  cluster::ClusterInputs inputs{
      .instance = instance,
      .num_instances = num_places(resolved),
      .router = std::move(routers.front()),
      .times = times,
      .seed = static_cast<std::uint64_t>(resolved.run.seed),
      .eager = controls.eager,
      .arrivals_are_known = controls.arrivals_are_known,
      .threads = controls.threads,
      .parts = std::move(parts),
      .pools = std::move(instances.pools),
      .groups = std::move(instances.groups),
      .sites = scenario::sites_of(section.kv_transfer, num_places(resolved)),
      .warm_from = instances.warm_from};
  if (inputs.pools.empty() && section.spread) {
    inputs.pools.push_back({.instances = inputs.num_instances,
                            .options = &instance.engine.options,
                            .model = &instance.engine.model,
                            .host = &instance.engine.host,
                            .spread = *section.spread});
  }
  routers.erase(routers.begin());
  inputs.more_routers = std::move(routers);
  inputs.split = gateway.gateway_split == "session"      ? cluster::GatewaySplit::kSession
                 : gateway.gateway_split == "connection" ? cluster::GatewaySplit::kConnection
                                                         : cluster::GatewaySplit::kRandom;
  inputs.connections = gateway.connections.value_or(0);
  if (setup->predictor) {
    inputs.targets_of = targets_of(resolved, tenants);
  }
  inputs.decisions = controls.decisions;
  inputs.stories = controls.stories;
  if (controls.audit) {
    inputs.audit = make_all();
  }
  inputs.ranks_in_lock_step = scenario::ranks_in_lock_step(resolved.deployment->network,
                                                           resolved.deployment->execution.sharding);
  add_operations(resolved, make_all, controls.make_scaler, inputs);
  return std::make_unique<cluster::Cluster>(std::move(inputs));
}

/// Where instances are ranks in lock-step, what each did in the steps of its group.
void fill_lock_step(const cluster::Cluster& cluster,
                    std::int64_t ranks,
                    metrics::FleetSummary& fleet) {
  metrics::LockStepSummary together{.ranks = ranks, .per_rank = {}};
  for (const auto& instance : cluster.instances()) {
    const auto steps = cluster.rank_steps_of(instance->id());
    if (!steps) {
      return;
    }
    const engine::EngineTotals totals = cluster.totals_of(instance->id());
    const double busy = totals.busy.to_seconds();
    together.per_rank.push_back(
        {.steps = totals.steps,
         .dummy_steps = steps->dummy_steps,
         .waited = busy > 0.0 ? std::optional(steps->waited.to_seconds() / busy) : std::nullopt});
  }
  fleet.lock_step = std::move(together);
}

/// Places that an autoscaler never filled are no instances: they are left out, those before others
/// but for their blocks. `blocks` says how many an instance has.
template <class Blocks>
void leave_out_unused(const cluster::Cluster& cluster,
                      const Blocks& blocks,
                      metrics::Summary& summary) {
  const auto* const operations = cluster.part<cluster::Operations>();
  if (operations == nullptr) {
    return;
  }
  metrics::FleetSummary& fleet = *summary.fleet;
  const auto was_used = [&](std::size_t place) {
    return operations->was_used(core::InstanceId(static_cast<core::InstanceId::Rep>(place)));
  };
  while (fleet.instances.size() > 1 && !was_used(fleet.instances.size() - 1)) {
    fleet.instances.pop_back();
  }
  metrics::fill_variations(fleet);
  double all = 0.0;
  for (std::size_t place = 0; place < fleet.instances.size(); ++place) {
    all += was_used(place) ? blocks(place) : 0.0;
  }
  const auto peak = static_cast<double>(cluster.totals().peak_used_blocks.value());
  summary.kv_cache.peak = all > 0.0 ? std::optional(peak / all) : std::nullopt;
}

/// What the requests of a cluster's instances do not say.
void fill_fleet(const scenario::Resolved& resolved,
                const cluster::Cluster& cluster,
                const FleetParts& parts,
                double seconds,
                metrics::Summary& summary) {
  metrics::FleetSummary& fleet = *summary.fleet;
  const auto share = [](double part, double whole) {
    return whole > 0.0 ? std::optional(part / whole) : std::nullopt;
  };
  const cluster::RoutingTotals& routing = cluster.routing();
  fleet.router = scenario::router_name(resolved.run.cluster.router);
  fleet.decisions = routing.decisions;
  fleet.ties = routing.ties;
  fleet.refused = routing.refused() +
                  (parts.disaggregation == nullptr ? 0 : parts.disaggregation->totals().refused);
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
  const auto blocks = [&, pools = pools_of_instances(resolved)](std::size_t instance) {
    const scenario::Deployment& deployment =
        pools.empty() ? *resolved.deployment : *resolved.pools[pools[instance]].deployment;
    return static_cast<double>((deployment.engine.num_gpu_blocks - kNullBlock).value());
  };
  for (std::size_t i = 0; i < fleet.instances.size(); ++i) {
    const engine::EngineTotals totals =
        cluster.totals_of(core::InstanceId(static_cast<core::InstanceId::Rep>(i)));
    metrics::InstanceSummary& instance = fleet.instances[i];
    instance.busy = share(totals.busy.to_seconds(), seconds);
    if (instance.busy) {
      // Ranks in lock-step go on after the last request, until they agree that none is left.
      instance.busy = std::min(*instance.busy, 1.0);
    }
    instance.kv_peak = share(static_cast<double>(totals.peak_used_blocks.value()), blocks(i));
    instance.prefix_hit_rate = share(static_cast<double>(totals.prefix_hits.value()),
                                     static_cast<double>(totals.prefix_queries.value()));
  }
  leave_out_unused(cluster, blocks, summary);
  fill_lock_step(cluster, resolved.deployment->execution.sharding.data_parallel_size, fleet);
  fill_pools(resolved, cluster, seconds, summary);
  fill_transfers(resolved, parts.disaggregation, fleet);
  fill_offload(resolved, parts.offload, seconds, summary);
  fill_operations(resolved, cluster, summary);
}

}  // namespace ridgeline::sim
