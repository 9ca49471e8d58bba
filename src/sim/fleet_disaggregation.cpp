#include "sim/fleet_disaggregation.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "cluster/disaggregation.hpp"
#include "cluster/gateway.hpp"
#include "cluster/link/kv_link.hpp"
#include "cluster/part.hpp"
#include "core/check.hpp"
#include "core/time.hpp"
#include "core/time_sum.hpp"
#include "metrics/summary.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/disaggregation.hpp"
#include "scenario/sections/gateway.hpp"
#include "scenario/sections/kv_offload.hpp"
#include "scenario/sections/kv_transfer.hpp"
#include "scenario/sections/router.hpp"
#include "sim/fleet_pools.hpp"
#include "sim/fleet_prediction.hpp"
#include "sim/operations.hpp"

namespace ridgeline::sim {
namespace {

cluster::TransferOptions transfer_options(const scenario::Resolved& resolved,
                                          disaggregation::TransferMode own_mode) {
  const scenario::KvTransferSection& section = resolved.run.cluster.kv_transfer;
  const auto wires = scenario::kv_wires(section, resolved.deployment->engine.block_size);
  RIDGELINE_CHECK(wires.has_value(), "a scenario's rules read its bandwidths");
  cluster::TransferOptions options{
      .mode = scenario::transfer_mode(section, own_mode),
      .topology = {.network_card = wires->network_card,
                   .fabric = wires->fabric,
                   .instances_per_host = section.instances_per_host.value_or(1),
                   .inside_host = wires->inside_host},
      .sharing = section.sharing == "fifo" ? link::Sharing::kFifo : link::Sharing::kMaxMin,
      .bytes_per_block = scenario::kv_block_bytes(*resolved.deployment),
      .setup = wires->setup,
      .per_block = wires->per_block,
      .lease = section.kv_lease.value_or(scenario::kDefaultKvLease)};
  options.block_size = resolved.deployment->engine.block_size;
  options.layers = resolved.deployment->network.num_layers();
  const bool has_own_cards = wires->own_cards;
  for (const std::size_t pool : pools_of_instances(resolved)) {
    const scenario::Deployment& own = *resolved.pools[pool].deployment;
    options.bytes_per_block_of.push_back(scenario::kv_block_bytes(own));
    if (has_own_cards) {
      options.topology.own_cards.push_back(own.execution.sharding.gpus_of_rank());
    }
  }
  if (has_own_cards && resolved.pools.empty()) {
    options.topology.own_cards.assign(static_cast<std::size_t>(num_places(resolved)),
                                      resolved.deployment->execution.sharding.gpus_of_rank());
  }
  options.failure = section.kv_load_failure_policy == "recompute" ? cluster::LoadFailure::kRecompute
                                                                  : cluster::LoadFailure::kFail;
  return options;
}

std::unique_ptr<routing::Router> prefill_router(const scenario::Resolved& resolved) {
  const scenario::ClusterSection& section = resolved.run.cluster;
  const auto& own = section.disaggregation.prefill_router;
  auto setup = own ? core::Result<routing::RouterSetup>(routing::RouterSetup{})
                   : scenario::router_setup(section.router);
  const auto router = routing::find_router(own.value_or(scenario::router_name(section.router)));
  RIDGELINE_CHECK(router.has_value() && setup.has_value(), "a scenario's rules look policies up");
  setup->instance_blocks = resolved.deployment->engine.num_gpu_blocks.value() - 1;
  setup->predictor = own ? nullptr : predictor_of(resolved);
  return (*router)->make(*setup);
}

/// Standard deviation over mean of one count of instances; nothing where the mean is zero.
template <class Count>
std::optional<double> variation(std::span<const metrics::InstanceSummary> instances,
                                const Count& count) {
  double sum = 0.0;
  double squares = 0.0;
  for (const metrics::InstanceSummary& instance : instances) {
    const auto value = static_cast<double>(count(instance));
    sum += value;
    squares += value * value;
  }
  const auto number = static_cast<double>(instances.size());
  const double mean = sum / number;
  return mean > 0.0 ? std::optional(std::sqrt(std::max(squares / number - mean * mean, 0.0)) / mean)
                    : std::nullopt;
}

}  // namespace

bool is_disaggregated(const scenario::Resolved& resolved) {
  return resolved.run.cluster.disaggregation.prefill_instances.has_value();
}

std::optional<cluster::PartMaker> disaggregation_maker(const scenario::Resolved& resolved,
                                                       const cluster::Disaggregation*& part) {
  if (!is_disaggregated(resolved)) {
    return std::nullopt;
  }
  return cluster::PartMaker{
      .kind = cluster::PartKind::kLinks, .make = [&resolved, &part](cluster::Fleet& fleet) {
        const scenario::ClusterSection& section = resolved.run.cluster;
        auto rules = scenario::disaggregation_rules(section.disaggregation);
        RIDGELINE_CHECK(rules.has_value(), "a scenario's rules look deciders up");
        std::function<std::unique_ptr<routing::Router>()> anew;
        if (has_operations(section)) {
          anew = [&resolved] { return prefill_router(resolved); };
        }
        auto made = std::make_unique<cluster::Disaggregation>(
            cluster::DisaggregationInputs{
                .prefill_instances = num_prefill_places(resolved),
                .prefill_router = prefill_router(resolved),
                .new_prefill_router = std::move(anew),
                .times = fleet.gateway().times(),
                .seed = static_cast<std::uint64_t>(resolved.run.seed),
                .sites = scenario::sites_of(section.kv_transfer, num_places(resolved)),
                .decider = std::move(rules->decider),
                .order = rules->order,
                .first_token = rules->first_token,
                .transfer = transfer_options(resolved, rules->mode)},
            fleet);
        part = made.get();
        return made;
      }};
}

void fill_transfers(const scenario::Resolved& resolved,
                    const cluster::Disaggregation* part,
                    metrics::FleetSummary& fleet) {
  if (part == nullptr) {
    return;
  }
  const cluster::TransferTotals totals = part->totals();
  const auto mean_ms = [](core::TimeSum sum, std::int64_t count) {
    return count > 0 ? std::optional(sum.to_milliseconds() / static_cast<double>(count))
                     : std::nullopt;
  };
  const auto prefills = static_cast<std::size_t>(num_prefill_places(resolved));
  for (std::size_t i = 0; i < prefills; ++i) {
    fleet.instances[i].requests = totals.prefills[i];
  }
  const auto decodes = std::span(fleet.instances).subspan(prefills);
  fleet.request_variation = variation(decodes, [](const auto& one) { return one.requests; });
  fleet.token_variation = variation(
      decodes, [](const auto& one) { return one.total_input_tokens + one.total_output_tokens; });
  fleet.transfers =
      metrics::TransferSummary{.prefill_instances = static_cast<std::int64_t>(prefills),
                               .requests = totals.disaggregated,
                               .count = totals.count,
                               .failed = totals.failed,
                               .failed_by_crash = totals.failed_by_crash,
                               .recomputed = totals.recomputed,
                               .decode_lost = totals.decode_lost,
                               .bytes = totals.bytes,
                               .ms = mean_ms(totals.busy, totals.count),
                               .wait_ms = mean_ms(totals.waited, totals.count),
                               .link_utilisation = totals.link_utilisation,
                               .ttft_parts_ms = {mean_ms(totals.gateway, totals.answered),
                                                 mean_ms(totals.prefill, totals.answered),
                                                 mean_ms(totals.hand_over, totals.answered),
                                                 mean_ms(totals.decode_wait, totals.answered),
                                                 mean_ms(totals.setup, totals.answered),
                                                 mean_ms(totals.transfer, totals.answered),
                                                 mean_ms(totals.first_step, totals.answered)}};
}

}  // namespace ridgeline::sim
