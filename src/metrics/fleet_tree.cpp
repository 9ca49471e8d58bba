#include "metrics/fleet_tree.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "metrics/lock_step_summary.hpp"
#include "metrics/offload_summary.hpp"
#include "metrics/operations_summary.hpp"
#include "metrics/summary.hpp"
#include "metrics/summary_tree.hpp"

namespace ridgeline::metrics {
namespace {

using document::list_of;
using document::MapBuilder;
using document::Node;

Node instance_tree(std::size_t id, const InstanceSummary& instance) {
  MapBuilder map;
  map.add("id", id)
      .add("requests", instance.requests)
      .add("completed", instance.completed)
      .add("total_input_tokens", instance.total_input_tokens)
      .add("total_output_tokens", instance.total_output_tokens)
      .add("total_cached_tokens", instance.total_cached_tokens)
      .add("ttft_ms", distribution_tree(instance.ttft_ms))
      .add("tpot_ms", distribution_tree(instance.tpot_ms))
      .add("e2e_ms", distribution_tree(instance.e2e_ms))
      .add("queue_time_ms", distribution_tree(instance.queue_time_ms))
      .add("busy", instance.busy)
      .add("kv_peak", instance.kv_peak)
      .add("prefix_hit_rate", instance.prefix_hit_rate);
  map.add_known("ready_s", instance.ready_s);
  return map.build();
}

Node pool_tree(const PoolSummary& pool) {
  const InstanceSummary& all = pool.together;
  MapBuilder map;
  map.add("name", pool.name)
      .add("model", pool.model)
      .add("gpu", pool.gpu)
      .add("instances", pool.instances)
      .add("gpus_per_instance", pool.gpus)
      .add("requests", all.requests)
      .add("completed", all.completed)
      .add("total_input_tokens", all.total_input_tokens)
      .add("total_output_tokens", all.total_output_tokens)
      .add("total_cached_tokens", all.total_cached_tokens)
      .add("output_throughput", pool.output_throughput)
      .add("ttft_ms", distribution_tree(all.ttft_ms))
      .add("tpot_ms", distribution_tree(all.tpot_ms))
      .add("e2e_ms", distribution_tree(all.e2e_ms))
      .add("queue_time_ms", distribution_tree(all.queue_time_ms))
      .add("busy", all.busy)
      .add("kv_peak", all.kv_peak)
      .add("prefix_hit_rate", all.prefix_hit_rate)
      .add("gpu_hours", pool.gpu_hours);
  map.add_known("cost", pool.cost);
  return map.build();
}

Node tenant_tree(const TenantSummary& tenant) {
  MapBuilder map;
  map.add("name", tenant.name)
      .add("weight", tenant.weight)
      .add("requests", tenant.requests)
      .add("completed", tenant.completed)
      .add("rejected", tenant.rejected)
      .add("expired", tenant.expired)
      .add("total_input_tokens", tenant.total_input_tokens)
      .add("total_output_tokens", tenant.total_output_tokens)
      .add("share", tenant.share)
      .add("ttft_ms", distribution_tree(tenant.ttft_ms))
      .add("tpot_ms", distribution_tree(tenant.tpot_ms))
      .add("e2e_ms", distribution_tree(tenant.e2e_ms))
      .add("gateway_wait_ms", distribution_tree(tenant.gateway_wait_ms));
  if (tenant.good_share) {
    map.add("goodput", tenant.goodput).add("good_share", tenant.good_share);
  }
  return map.build();
}

Node admission_tree(const AdmissionSummary& admission) {
  MapBuilder rejected;
  for (const AdmissionSummary::Refused& refused : admission.rejected) {
    rejected.add(refused.reason, refused.requests);
  }
  MapBuilder map;
  map.add("policy", admission.policy)
      .add("flow_control", admission.flow_control)
      .add("admitted", admission.admitted)
      .add("rejected", rejected.build());
  if (admission.evicted) {
    map.add("evicted", *admission.evicted);
  }
  if (admission.flow_control) {
    map.add("queue_ms", distribution_tree(admission.queue_ms));
  }
  return map.build();
}

Node transfers_tree(const TransferSummary& transfers) {
  MapBuilder parts;
  for (std::size_t i = 0; i < kTtftParts.size(); ++i) {
    parts.add(std::string(kTtftParts[i]), transfers.ttft_parts_ms[i]);
  }
  return MapBuilder()
      .add("prefill_instances", transfers.prefill_instances)
      .add("requests", transfers.requests)
      .add("count", transfers.count)
      .add("failed", transfers.failed)
      .add("failed_by_crash", transfers.failed_by_crash)
      .add("recomputed", transfers.recomputed)
      .add("decode_lost", transfers.decode_lost)
      .add("bytes", transfers.bytes)
      .add("ms", transfers.ms)
      .add("wait_ms", transfers.wait_ms)
      .add("link_utilisation", transfers.link_utilisation)
      .add("ttft_parts_ms", parts.build());
}

Node lock_step_tree(const LockStepSummary& lock_step) {
  std::vector<Node> ranks;
  for (std::size_t id = 0; id < lock_step.per_rank.size(); ++id) {
    const RankSummary& rank = lock_step.per_rank[id];
    ranks.push_back(MapBuilder()
                        .add("id", id)
                        .add("steps", rank.steps)
                        .add("dummy_steps", rank.dummy_steps)
                        .add("waited", rank.waited));
  }
  return MapBuilder().add("ranks", lock_step.ranks).add("per_rank", list_node(std::move(ranks)));
}

Node tier_tree(const TierSummary& tier) {
  return MapBuilder()
      .add("tier", tier.tier)
      .add("capacity_blocks", tier.capacity_blocks)
      .add("peak_blocks", tier.peak_blocks)
      .add("hit_tokens", tier.hit_tokens)
      .add("loads", tier.loads)
      .add("bytes_read", tier.bytes_read)
      .add("read_ms", tier.read_ms)
      .add("bytes_written", tier.bytes_written)
      .add("blocks_written", tier.blocks_written)
      .add("blocks_evicted", tier.blocks_evicted)
      .add("blocks_refused", tier.blocks_refused)
      .add("read_utilisation", tier.read_utilisation)
      .add("write_utilisation", tier.write_utilisation);
}

Node offload_tree(const OffloadSummary& offload) {
  std::vector<Node> tiers;
  tiers.reserve(offload.tiers.size());
  for (const TierSummary& tier : offload.tiers) {
    tiers.push_back(tier_tree(tier));
  }
  return MapBuilder()
      .add("block_tokens", offload.block_tokens)
      .add("query_tokens", offload.query_tokens)
      .add("hit_tokens", offload.hit_tokens)
      .add("hit_rate", offload.hit_rate)
      .add("loads", offload.loads)
      .add("load_ms", offload.load_ms)
      .add("recomputed", offload.recomputed)
      .add("tiers", list_node(std::move(tiers)));
}

Node scaling_tree(const ScalingSummary& scaling) {
  MapBuilder map;
  std::vector<Node> events;
  for (const ScaleEventSummary& event : scaling.events) {
    MapBuilder one;
    one.add("at_s", event.at_s);
    if (!event.pool.empty()) {
      one.add("pool", event.pool);
    }
    one.add("from", event.from).add("to", event.to).add("reason", event.reason);
    events.push_back(one.build());
  }
  if (!scaling.policy.empty()) {
    map.add("policy", scaling.policy).add("events", list_node(std::move(events)));
    if (scaling.pools.size() > 1 || (scaling.pools.size() == 1 && !scaling.pools.front().empty())) {
      map.add("pools", scaling.pools);
    }
  }
  map.add("replica_seconds", scaling.replica_seconds).add("gpu_hours", scaling.gpu_hours);
  map.add_known("cost", scaling.cost);
  return map.build();
}

Node faults_tree(const std::vector<FaultSummary>& faults) {
  std::vector<Node> list;
  for (const FaultSummary& fault : faults) {
    MapBuilder map;
    map.add("kind", fault.kind);
    if (fault.instance) {
      map.add("instance", *fault.instance);
    }
    if (fault.host) {
      map.add("host", *fault.host);
    }
    map.add("at_s", fault.at_s)
        .add("over_s", fault.over_s)
        .add("failed_requests", fault.failed_requests);
    list.push_back(map.build());
  }
  return list_node(std::move(list));
}

Node updates_tree(const std::vector<UpdateSummary>& updates) {
  std::vector<Node> list;
  for (const UpdateSummary& update : updates) {
    MapBuilder map;
    if (!update.pool.empty()) {
      map.add("pool", update.pool);
    }
    map.add("at_s", update.at_s)
        .add("over_s", update.over_s)
        .add("instances", update.instances)
        .add("replaced", update.replaced)
        .add("starting", update.starting)
        .add("fewest_ready", update.fewest_ready)
        .add("failed_requests", update.failed_requests)
        .add("rerouted_requests", update.rerouted_requests);
    list.push_back(map.build());
  }
  return list_node(std::move(list));
}

void add_operations(const OperationsSummary& operations, MapBuilder& cluster) {
  if (operations.scaling) {
    cluster.add("scaling", scaling_tree(*operations.scaling));
  }
  if (operations.retries) {
    if (!operations.updates.empty() || operations.late_updates > 0) {
      cluster.add("updates", updates_tree(operations.updates));
    }
    cluster.add("faults", faults_tree(operations.faults))
        .add("held_requests", operations.held_requests)
        .add("retries",
             MapBuilder()
                 .add("attempts", operations.retries->attempts)
                 .add("retried_requests", operations.retries->retried_requests)
                 .add("wasted_tokens", operations.retries->wasted_tokens));
  }
}

}  // namespace

Node fleet_tree(const FleetSummary& fleet) {
  std::vector<Node> instances;
  for (std::size_t id = 0; id < fleet.instances.size(); ++id) {
    instances.push_back(instance_tree(id, fleet.instances[id]));
  }
  MapBuilder routing;
  routing.add("router", fleet.router).add("decisions", fleet.decisions).add("ties", fleet.ties);
  MapBuilder reasons;
  for (const auto& [reason, decisions] : fleet.by_reason) {
    reasons.add(reason, decisions);
  }
  routing.add("by_reason", reasons.build());
  if (fleet.refused > 0) {
    routing.add("refused", fleet.refused);
  }
  routing.add_known("age_ms", fleet.age_ms);
  if (fleet.regret) {
    routing.add("regret", fleet.regret).add("hit_lost_tokens", *fleet.hit_lost_tokens);
  }
  routing.add("request_variation", fleet.request_variation)
      .add("token_variation", fleet.token_variation);
  MapBuilder map;
  map.add("routing", routing.build());
  if (fleet.transfers) {
    map.add("transfers", transfers_tree(*fleet.transfers));
  }
  if (fleet.lock_step) {
    map.add("lock_step", lock_step_tree(*fleet.lock_step));
  }
  if (fleet.offload) {
    map.add("kv_offload", offload_tree(*fleet.offload));
  }
  if (!fleet.pools.empty()) {
    map.add("per_pool", list_of(fleet.pools, pool_tree));
  }
  map.add("per_instance", list_node(std::move(instances)));
  if (fleet.admission) {
    map.add("admission", admission_tree(*fleet.admission));
  }
  if (!fleet.tenants.empty()) {
    map.add("per_tenant", list_of(fleet.tenants, tenant_tree))
        .add("fairness", fleet.fairness)
        .add("fairness_of_demand", fleet.fairness_of_demand);
  }
  if (fleet.operations) {
    add_operations(*fleet.operations, map);
  }
  return map.build();
}

}  // namespace ridgeline::metrics
