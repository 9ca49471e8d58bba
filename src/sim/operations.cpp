#include "sim/operations.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster.hpp"
#include "cluster/faults/fault.hpp"
#include "cluster/faults/plan.hpp"
#include "cluster/operations.hpp"
#include "cluster/part.hpp"
#include "cluster/pools.hpp"
#include "cluster/scaling/cold_start.hpp"
#include "cluster/scaling/metric.hpp"
#include "cluster/scaling/registry.hpp"
#include "cluster/scaling_part.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/int128.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "metrics/operations_summary.hpp"
#include "metrics/summary.hpp"
#include "model/operators.hpp"
#include "routing/router.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "scenario/sections/autoscaling.hpp"
#include "scenario/sections/cluster.hpp"
#include "scenario/sections/cold_start.hpp"
#include "scenario/sections/faults.hpp"
#include "scenario/sections/pools.hpp"
#include "scenario/sections/rolling_update.hpp"
#include "sim/fleet_pools.hpp"

namespace ridgeline::sim {
namespace {

constexpr double kSecondsPerHour = 3600.0;
constexpr core::Blocks kUnusedBlock{1};  ///< Holds no tokens.
// What instances are called where prefill and decode are apart.
constexpr std::string_view kPrefill = "prefill";
constexpr std::string_view kDecode = "decode";

scaling::ColdStart start_of(const scenario::Resolved& resolved,
                            const scenario::Deployment& deployment) {
  const auto start = scenario::read_cold_start(resolved.run.cluster.autoscaling.cold_start,
                                               scenario::start_facts(deployment));
  RIDGELINE_CHECK(start.has_value(), "a scenario's rules read its sections");
  return *start;
}

/// Those of each pool, and which groups of pools are for them.
std::vector<cluster::Places> places_of_pools(const scenario::Resolved& resolved,
                                             const cluster::PoolGroups& groups) {
  std::vector<cluster::Places> all;
  std::size_t first = 0;
  for (std::size_t i = 0; i < resolved.pools.size(); ++i) {
    const scenario::ResolvedPool& pool = resolved.pools[i];
    cluster::Places places{
        .first = first,
        .count = static_cast<std::size_t>(places_of_pool(resolved, pool.section)),
        .initial = pool.section.instances,
        .cold_start = start_of(resolved, *pool.deployment)};
    for (const std::vector<bool>& members : groups.members) {
      places.serves.push_back(members[i]);
    }
    first += places.count;
    all.push_back(std::move(places));
  }
  return all;
}

/// The instances that a fault's pool or host stands for.
std::optional<faults::Neighbours> neighbours_of(const scenario::Resolved& resolved,
                                                const scenario::FaultEntry& entry) {
  const scenario::ClusterSection& section = resolved.run.cluster;
  if (entry.host && !faults::is_of_link(entry.fault.kind)) {
    const std::int64_t per_host = section.kv_transfer.instances_per_host.value_or(1);
    const std::int64_t first = *entry.host * per_host;
    return faults::Neighbours{.first = first,
                              .count = std::min(per_host, *section.instances - first)};
  }
  std::int64_t first = 0;
  for (const scenario::ResolvedPool& pool : resolved.pools) {
    const std::int64_t count = places_of_pool(resolved, pool.section);
    if (pool.section.name == entry.pool) {
      return faults::Neighbours{.first = first, .count = count};
    }
    first += count;
  }
  if (entry.pool.empty()) {
    return std::nullopt;
  }
  const std::int64_t prefill = num_prefill_places(resolved);
  return entry.pool == kPrefill
             ? faults::Neighbours{.first = 0, .count = prefill}
             : faults::Neighbours{.first = prefill, .count = num_places(resolved) - prefill};
}

std::vector<faults::ListedFault> listed_faults(const scenario::Resolved& resolved,
                                               const scenario::FaultSettings& settings) {
  std::vector<faults::ListedFault> listed;
  for (const scenario::FaultEntry& entry : settings.listed) {
    listed.push_back(entry);
    listed.back().among = neighbours_of(resolved, entry);
  }
  return listed;
}

/// The name of each places' instances.
std::vector<std::string> names_of_places(const scenario::Resolved& resolved) {
  if (resolved.run.cluster.disaggregation.prefill_instances && resolved.pools.size() <= 1) {
    return {std::string(kPrefill), std::string(kDecode)};
  }
  if (resolved.pools.empty()) {
    return {""};
  }
  std::vector<std::string> names;
  for (const scenario::ResolvedPool& pool : resolved.pools) {
    names.push_back(pool.section.name);
  }
  return names;
}

std::vector<cluster::PlannedUpdate> updates_of(const scenario::Resolved& resolved,
                                               const std::vector<cluster::Places>& places) {
  const scenario::RollingUpdateSection& section = resolved.run.cluster.rolling_update;
  const std::vector<std::string> names = names_of_places(resolved);
  std::vector<cluster::PlannedUpdate> updates;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (const auto rule = scenario::update_of(section, names[i])) {
      updates.push_back({.at = core::SimTime::at(*section.update_at), .places = i, .rule = *rule});
    }
  }
  return updates;
}

cluster::OperationsInputs operations_inputs(const scenario::Resolved& resolved,
                                            const cluster::PoolGroups& groups) {
  const scenario::ClusterSection& section = resolved.run.cluster;
  const auto faults = scenario::fault_settings(section.faults);
  RIDGELINE_CHECK(faults.has_value(), "a scenario's rules read its sections");
  const auto seed = static_cast<std::uint64_t>(resolved.run.seed);
  const std::int64_t prefill = section.disaggregation.prefill_instances.value_or(0);
  const auto prefill_places = static_cast<std::size_t>(num_prefill_places(resolved));
  const auto all_places = static_cast<std::size_t>(num_places(resolved));
  const bool is_apart = prefill > 0;
  const bool has_kinds = is_apart || resolved.pools.size() > 1;
  // Ids follow the places: where several kinds are scaled, a share of the instances is one of
  // places.
  const std::int64_t drawn_from = has_kinds ? num_places(resolved) : *section.instances;
  cluster::OperationsInputs inputs{
      .initial_instances = *section.instances,
      .places = {},
      .faults =
          faults::FaultPlan(listed_faults(resolved, *faults), faults->random, drawn_from, seed),
      .cold_start = start_of(resolved, *resolved.deployment),
      .victim = scenario::victim_policy(section.autoscaling),
      .seed = seed};
  inputs.instances_per_host = section.kv_transfer.instances_per_host.value_or(1);
  if (is_apart && resolved.pools.size() <= 1) {
    inputs.places = {{.first = 0, .count = prefill_places, .initial = prefill},
                     {.first = prefill_places,
                      .count = all_places - prefill_places,
                      .initial = *section.instances - prefill}};
  } else if (has_kinds) {
    inputs.places = places_of_pools(resolved, groups);
  }
  if (inputs.places.empty()) {
    inputs.places = {{.count = all_places, .initial = *section.instances}};
  }
  inputs.updates = updates_of(resolved, inputs.places);
  inputs.drain_timeout = section.autoscaling.drain_timeout.value_or(inputs.drain_timeout);
  inputs.retries.max_retries = section.retries.max_retries.value_or(0);
  inputs.retries.retry_backoff =
      section.retries.retry_backoff.value_or(inputs.retries.retry_backoff);
  inputs.health_check.interval =
      section.health_check.probe_interval.value_or(inputs.health_check.interval);
  inputs.health_check.failures =
      section.health_check.probe_failures.value_or(inputs.health_check.failures);
  return inputs;
}

/// What the bounds of a section say of instances made from a deployment.
cluster::ScaledPool scaled_pool(const scenario::AutoscalingSection& section,
                                const scenario::Deployment& deployment) {
  const engine::EngineOptions& engine = deployment.engine;
  return {.min_replicas = section.min_replicas.value_or(1),
          .max_replicas = *section.max_replicas,
          .kv_capacity = engine.block_size * (engine.num_gpu_blocks - kUnusedBlock).value(),
          .context = engine.max_model_len};
}

/// An autoscaler without pools.
cluster::ScalingInputs scaler_of(const scenario::AutoscalingSection& section, scaling::Role role) {
  const auto policy = scaling::find_scaler(*section.name);
  const auto settings = scenario::scaler_settings(section, role);
  RIDGELINE_CHECK(policy.has_value() && settings.has_value(),
                  "a scenario's rules look its autoscaler up");
  cluster::ScalingInputs inputs{.scaler = (*policy)->make(*settings),
                                .pools = {},
                                .reads_busy = settings->metric == scaling::Metric::kBusy};
  inputs.metrics_interval = section.metrics_interval.value_or(inputs.metrics_interval);
  if ((*policy)->reads_setting("metric") && scaling::is_latency(settings->metric)) {
    inputs.latency = {.metric = settings->metric,
                      .quantile = settings->metric_quantile,
                      .lasts = settings->metric_window};
    // Prompts that prefill instances compute end at others.
    inputs.sees_all_requests = role == scaling::Role::kPrefill;
  }
  return inputs;
}

cluster::ScalingInputs scaling_inputs(const scenario::Resolved& resolved, scaling::Role role) {
  scenario::AutoscalingSection section = resolved.run.cluster.autoscaling;
  if (resolved.pools.size() == 1) {
    section = scenario::autoscaling_of(section, resolved.pools.front().section);
  }
  cluster::ScalingInputs inputs = scaler_of(section, role);
  cluster::ScaledPool pool = scaled_pool(section, *resolved.deployment);
  if (role == scaling::Role::kPrefill) {
    pool.min_replicas = section.prefill_min_replicas.value_or(1);
    pool.max_replicas = *section.prefill_max_replicas;
    pool.name = kPrefill;
  } else if (role == scaling::Role::kDecode) {
    pool.places = 1;
    pool.name = kDecode;
  }
  inputs.pools.push_back(pool);
  return inputs;
}

/// An autoscaler for each of several pools; where the policy looks at pools together, one for all
/// that serve the same.
std::vector<cluster::ScalingInputs> scalers_of_pools(const scenario::Resolved& resolved) {
  const scenario::ClusterSection& cluster = resolved.run.cluster;
  const bool shares = (*scaling::find_scaler(*cluster.autoscaling.name))->shares_pools;
  std::vector<cluster::ScalingInputs> all;
  for (std::size_t i = 0; i < resolved.pools.size(); ++i) {
    const scenario::PoolSection& own = resolved.pools[i].section;
    const auto section = scenario::autoscaling_of(cluster.autoscaling, own);
    if (own.role == scaling::Role::kPrefill && !section.max_replicas) {
      continue;  // Their number is fixed.
    }
    cluster::ScaledPool pool = scaled_pool(section, *resolved.pools[i].deployment);
    pool.places = i;
    pool.name = own.name;
    const auto price = own.price_per_hour ? own.price_per_hour : cluster.price_per_hour;
    pool.cost = price.value_or(0.0) *
                static_cast<double>(scenario::gpus_of_instance(*resolved.pools[i].deployment));
    const auto alike = std::ranges::find_if(all, [&](const cluster::ScalingInputs& one) {
      const scenario::PoolSection& other = resolved.pools[one.pools.front().places].section;
      return shares && other.role == own.role && other.models == own.models &&
             other.adapters == own.adapters;
    });
    if (alike == all.end()) {
      all.push_back(scaler_of(section, own.role));
      all.back().pools.push_back(pool);
    } else {
      alike->pools.push_back(pool);
    }
  }
  return all;
}

metrics::ScalingSummary scaling_summary(const scenario::Resolved& resolved,
                                        const cluster::Cluster& cluster,
                                        std::span<const metrics::PoolSummary> pools,
                                        double replica_seconds) {
  const scenario::ClusterSection& section = resolved.run.cluster;
  metrics::ScalingSummary summary{.policy = section.autoscaling.name.value_or(""),
                                  .events = {},
                                  .replica_seconds = replica_seconds,
                                  .cost = {}};
  for (const auto* const scaling : cluster.parts<cluster::ScalingPart>()) {
    for (const std::string_view pool : scaling->pools()) {
      summary.pools.emplace_back(pool);
    }
    for (const cluster::ScaleEvent& event : scaling->events()) {
      summary.events.push_back({.at_s = event.at.to_seconds(),
                                .pool = std::string(event.pool),
                                .from = event.from,
                                .to = event.to,
                                .reason = std::string(event.reason)});
    }
  }
  std::ranges::stable_sort(summary.events, {}, &metrics::ScaleEventSummary::at_s);
  const double hours = replica_seconds / kSecondsPerHour;
  if (pools.empty()) {
    summary.gpu_hours = hours * scenario::gpus_of_instance(*resolved.deployment);
    if (section.price_per_hour) {
      summary.cost = summary.gpu_hours * *section.price_per_hour;
    }
  }
  for (const metrics::PoolSummary& pool : pools) {
    summary.gpu_hours += pool.gpu_hours;
    if (pool.cost) {
      summary.cost = summary.cost.value_or(0.0) + *pool.cost;
    }
  }
  return summary;
}

void fill_updates(const scenario::Resolved& resolved,
                  const cluster::Operations& operations,
                  metrics::OperationsSummary& summary) {
  const std::vector<cluster::PlannedUpdate>& updates = operations.updates();
  const cluster::OperationsTotals& totals = operations.totals();
  const std::vector<std::string> names = names_of_places(resolved);
  for (const cluster::UpdateReport& report : totals.updates) {
    const cluster::PlannedUpdate& planned = updates[static_cast<std::size_t>(report.update)];
    metrics::UpdateSummary& one = summary.updates.emplace_back();
    one.pool = names.size() > 1 ? names[planned.places] : "";
    one.at_s = planned.at.to_seconds();
    one.instances = report.replicas;
    one.replaced = report.replaced;
    one.starting = report.starting;
    one.fewest_ready = report.fewest_ready;
    one.failed_requests = report.failed_requests;
    one.rerouted_requests = report.rerouted_requests;
    if (report.over != core::SimTime::never()) {
      one.over_s = report.over.to_seconds();
    }
  }
  summary.late_updates = static_cast<std::int64_t>(updates.size() - totals.updates.size());
}

void fill_faults(const cluster::OperationsTotals& totals, metrics::OperationsSummary& summary) {
  for (const cluster::FaultReport& report : totals.faults) {
    const faults::Fault& fault = report.fault;
    metrics::FaultSummary& one = summary.faults.emplace_back();
    one.kind = faults::kFaultKindNames[static_cast<std::size_t>(fault.kind)];
    one.at_s = fault.at.to_seconds();
    one.failed_requests = report.failed_requests;
    if (fault.instance.valid()) {
      one.instance = static_cast<std::int64_t>(fault.instance.value());
    }
    one.host = fault.host;
    one.is_of_fabric = faults::is_of_link(fault.kind) && !fault.host;
    if (report.over != core::SimTime::never()) {
      one.over_s = report.over.to_seconds();
    }
  }
  summary.held_requests = totals.held_requests;
  summary.retries = {.attempts = totals.retries,
                     .retried_requests = totals.retried_requests,
                     .wasted_tokens = totals.wasted_tokens.value()};
}

}  // namespace

bool has_operations(const scenario::ClusterSection& section) {
  return section.autoscaling.name || section.faults || section.rolling_update.update_at;
}

std::int64_t num_places(const scenario::Resolved& resolved) {
  const scenario::ClusterSection& section = resolved.run.cluster;
  if (resolved.pools.size() > 1 ||
      (!resolved.pools.empty() && !section.disaggregation.prefill_instances)) {
    std::int64_t places = 0;
    for (const scenario::ResolvedPool& pool : resolved.pools) {
      places += places_of_pool(resolved, pool.section);
    }
    return places;
  }
  const std::int64_t prefill = section.disaggregation.prefill_instances.value_or(0);
  return num_prefill_places(resolved) +
         scenario::with_surge(section.rolling_update,
                              prefill > 0 ? kDecode : "",
                              scenario::most_instances(section.autoscaling,
                                                       section.instances.value_or(0) - prefill));
}

std::int64_t num_prefill_places(const scenario::Resolved& resolved) {
  const scenario::ClusterSection& section = resolved.run.cluster;
  const std::int64_t prefill = section.disaggregation.prefill_instances.value_or(0);
  if (prefill == 0) {
    return 0;
  }
  if (resolved.pools.size() > 1) {
    std::int64_t places = 0;
    std::int64_t left = prefill;
    for (const scenario::ResolvedPool& pool : resolved.pools) {
      const bool is_whole = pool.section.role == scaling::Role::kPrefill;
      places += is_whole ? places_of_pool(resolved, pool.section)
                         : std::min(left, pool.section.instances);
      left = std::max<std::int64_t>(left - pool.section.instances, 0);
    }
    return places;
  }
  return scenario::with_surge(section.rolling_update,
                              kPrefill,
                              section.autoscaling.name
                                  ? section.autoscaling.prefill_max_replicas.value_or(prefill)
                                  : prefill);
}

void add_operations(
    const scenario::Resolved& resolved,
    std::function<cluster::Gateway::Routers()> new_routers,
    const std::function<std::unique_ptr<scaling::Scaler>(std::unique_ptr<scaling::Scaler>)>&
        make_scaler,
    cluster::ClusterInputs& inputs) {
  if (!has_operations(resolved.run.cluster)) {
    return;
  }
  auto operations = operations_inputs(resolved, inputs.groups);
  operations.new_routers = std::move(new_routers);
  inputs.instance.may_slow_down = operations.faults.has(faults::FaultKind::kSlowdown);
  // Makers are called in the order of their kinds.
  const auto made = std::make_shared<cluster::Operations*>(nullptr);
  const auto own = std::make_shared<cluster::OperationsInputs>(std::move(operations));
  inputs.parts.push_back({.kind = cluster::PartKind::kFaults, .make = [=](cluster::Fleet& fleet) {
                            auto part =
                                std::make_unique<cluster::Operations>(fleet, std::move(*own));
                            *made = part.get();
                            return part;
                          }});
  const auto scale = [&](cluster::ScalingInputs one) {
    if (make_scaler) {
      one.scaler = make_scaler(std::move(one.scaler));
    }
    const auto scaling = std::make_shared<cluster::ScalingInputs>(std::move(one));
    inputs.parts.push_back(
        {.kind = cluster::PartKind::kScaling, .make = [=](cluster::Fleet& fleet) {
           return std::make_unique<cluster::ScalingPart>(fleet, **made, std::move(*scaling));
         }});
  };
  const scenario::ClusterSection& section = resolved.run.cluster;
  if (!section.autoscaling.name) {
    return;
  }
  const bool is_apart = section.disaggregation.prefill_instances.has_value();
  if (resolved.pools.size() > 1) {
    for (cluster::ScalingInputs& one : scalers_of_pools(resolved)) {
      scale(std::move(one));
    }
    return;
  }
  if (is_apart && section.autoscaling.prefill_max_replicas) {
    scale(scaling_inputs(resolved, scaling::Role::kPrefill));
  }
  scale(scaling_inputs(resolved, is_apart ? scaling::Role::kDecode : scaling::Role::kBoth));
}

double seconds_existed(const cluster::Cluster& cluster, std::size_t first, std::size_t last) {
  const auto* const operations = cluster.part<cluster::Operations>();
  const core::SimTime end = cluster.last_end();
  core::Int128 ticks = 0;
  for (std::size_t place = first; place < last; ++place) {
    const core::InstanceId id(static_cast<core::InstanceId::Rep>(place));
    ticks += (operations != nullptr ? operations->existed(id, end) : end.since_start()).count();
  }
  return static_cast<double>(ticks) / static_cast<double>(core::Duration::kTicksPerSecond);
}

void fill_operations(const scenario::Resolved& resolved,
                     const cluster::Cluster& cluster,
                     metrics::Summary& summary) {
  const scenario::ClusterSection& section = resolved.run.cluster;
  const auto* const operations = cluster.part<cluster::Operations>();
  metrics::FleetSummary& fleet = *summary.fleet;
  if (operations == nullptr && !section.price_per_hour) {
    return;
  }
  metrics::OperationsSummary& own = fleet.operations.emplace();
  const core::SimTime end = cluster.last_end();
  for (std::size_t i = 0; i < fleet.instances.size(); ++i) {
    const core::InstanceId id(static_cast<core::InstanceId::Rep>(i));
    if (operations != nullptr && operations->was_used(id)) {
      fleet.instances[i].ready_s = operations->was_ready(id, end).to_seconds();
      fleet.instances[i].of_update = operations->is_of_update(id);
    }
  }
  if (section.autoscaling.name || section.price_per_hour || section.rolling_update.update_at) {
    own.scaling = scaling_summary(
        resolved, cluster, fleet.pools, seconds_existed(cluster, 0, fleet.instances.size()));
  }
  if (operations != nullptr) {
    fill_faults(operations->totals(), own);
    fill_updates(resolved, *operations, own);
    own.late_faults = operations->faults_after(end);
    if (summary.overload && (!own.faults.empty() || !own.updates.empty())) {
      summary.overload->served_only = true;  // What was served while instances were away.
    }
  }
}

}  // namespace ridgeline::sim
