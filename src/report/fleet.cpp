#include "report/fleet.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "metrics/summary.hpp"
#include "report/fleet_admission.hpp"
#include "report/fleet_pools.hpp"
#include "report/fleet_rows.hpp"
#include "report/format.hpp"
#include "report/lock_step.hpp"
#include "report/offload.hpp"
#include "report/operations.hpp"
#include "report/palette.hpp"
#include "report/result_tree.hpp"
#include "report/text_lines.hpp"
#include "report/transfers.hpp"
#include "report/tree.hpp"

namespace ridgeline::report {
namespace {

using metrics::FleetSummary;
using metrics::InstanceSummary;

document::Node instance_tree(std::size_t id, const InstanceSummary& instance) {
  MapBuilder map;
  map.add("id", integer_node(static_cast<std::int64_t>(id)))
      .add("requests", integer_node(instance.requests))
      .add("completed", integer_node(instance.completed))
      .add("total_input_tokens", integer_node(instance.total_input_tokens))
      .add("total_output_tokens", integer_node(instance.total_output_tokens))
      .add("total_cached_tokens", integer_node(instance.total_cached_tokens))
      .add("ttft_ms", distribution_tree(instance.ttft_ms))
      .add("tpot_ms", distribution_tree(instance.tpot_ms))
      .add("e2e_ms", distribution_tree(instance.e2e_ms))
      .add("queue_time_ms", distribution_tree(instance.queue_time_ms))
      .add("busy", number_node(instance.busy))
      .add("kv_peak", number_node(instance.kv_peak))
      .add("prefix_hit_rate", number_node(instance.prefix_hit_rate));
  if (instance.ready_s) {
    map.add("ready_s", number_node(instance.ready_s));
  }
  return map.build();
}

/// What routing did, in one line.
/// Those that an instance ever took: where instances come and go, others have no time in service.
std::vector<std::size_t> used_places(const FleetSummary& fleet) {
  const auto is_timed = [](const InstanceSummary& one) { return one.ready_s.has_value(); };
  const bool all = std::ranges::none_of(fleet.instances, is_timed);
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < fleet.instances.size(); ++place) {
    if (all || is_timed(fleet.instances[place])) {
      places.push_back(place);
    }
  }
  return places;
}

std::string gateway_line(const FleetSummary& fleet, const TextStyle& style) {
  std::vector<Piece> pieces = {
      {.text = fleet.router},
      {.text = counted(fleet.decisions, "decision")},
      {.text = fmt::format("{} by a draw among equals", grouped(fleet.ties))}};
  if (fleet.refused > 0) {
    pieces.push_back({.text = fmt::format("{} refused by filters", grouped(fleet.refused))});
  }
  const auto variation = [&](std::string_view what, const std::optional<double>& value) {
    if (value) {
      pieces.push_back({.text = fmt::format("{} vary by {}", what, percent(*value))});
    }
  };
  variation("requests", fleet.request_variation);
  variation("tokens", fleet.token_variation);
  if (fleet.age_ms) {
    pieces.push_back({.text = fmt::format("gauges {} ms old", significant(*fleet.age_ms))});
  }
  if (fleet.regret) {
    pieces.push_back({.text = fmt::format("{} otherwise on fresh views", percent(*fleet.regret))});
    pieces.push_back({.text = fmt::format("{} cached elsewhere",
                                          counted(*fleet.hit_lost_tokens, "recomputed token"))});
  }
  return fleet_line(
      counted(static_cast<std::int64_t>(used_places(fleet).size()), "instance"), pieces, style);
}

InstanceKinds kinds_of(std::int64_t prefills, const std::vector<std::size_t>& places) {
  const auto prefill = std::ranges::count_if(
      places, [&](std::size_t place) { return static_cast<std::int64_t>(place) < prefills; });
  return {.prefill = prefill, .decode = std::ssize(places) - prefill};
}

}  // namespace

document::Node fleet_tree(const FleetSummary& fleet) {
  std::vector<document::Node> instances;
  for (std::size_t id = 0; id < fleet.instances.size(); ++id) {
    instances.push_back(instance_tree(id, fleet.instances[id]));
  }
  MapBuilder routing;
  routing.add("router", text_node(fleet.router))
      .add("decisions", integer_node(fleet.decisions))
      .add("ties", integer_node(fleet.ties));
  MapBuilder reasons;
  for (const auto& [reason, decisions] : fleet.by_reason) {
    reasons.add(reason, integer_node(decisions));
  }
  routing.add("by_reason", reasons.build());
  if (fleet.refused > 0) {
    routing.add("refused", integer_node(fleet.refused));
  }
  if (fleet.age_ms) {
    routing.add("age_ms", number_node(fleet.age_ms));
  }
  if (fleet.regret) {
    routing.add("regret", number_node(fleet.regret))
        .add("hit_lost_tokens", integer_node(*fleet.hit_lost_tokens));
  }
  routing.add("request_variation", number_node(fleet.request_variation))
      .add("token_variation", number_node(fleet.token_variation));
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
    map.add("per_pool", pools_tree(fleet));
  }
  map.add("per_instance", list_node(std::move(instances)));
  if (fleet.admission) {
    map.add("admission", admission_tree(*fleet.admission));
  }
  if (!fleet.tenants.empty()) {
    map.add("per_tenant", tenants_tree(fleet))
        .add("fairness", number_node(fleet.fairness))
        .add("fairness_of_demand", number_node(fleet.fairness_of_demand));
  }
  if (fleet.operations) {
    add_operations(*fleet.operations, map);
  }
  return map.build();
}

std::string fleet_table(const metrics::Summary& summary, const TextStyle& style) {
  if (!summary.fleet) {
    return {};
  }
  const auto& instances = summary.fleet->instances;
  const std::vector<std::size_t> places = used_places(*summary.fleet);
  const FleetRows rows(summary, style);
  std::string text = "\n" + gateway_line(*summary.fleet, style);
  if (summary.fleet->transfers) {
    const metrics::TransferSummary& transfers = *summary.fleet->transfers;
    text += transfers_lines(transfers, kinds_of(transfers.prefill_instances, places), style);
  }
  if (summary.fleet->lock_step) {
    text += lock_step_line(*summary.fleet->lock_step, style);
  }
  if (summary.fleet->offload) {
    text += offload_lines(*summary.fleet->offload, style);
  }
  text += pools_table(summary, style);
  text += rows.header("by instance", {"requests"}, {"busy", "KV peak", "hits"}) +
          FleetRows::all(places.size(), [&](std::size_t row) {
            const InstanceSummary& one = instances[places[row]];
            return rows.row(fmt::format("{}", places[row]),
                            {one.requests},
                            one.ttft_ms,
                            one.tpot_ms,
                            {one.busy, one.kv_peak, one.prefix_hit_rate});
          });
  if (summary.fleet->operations) {
    text += operations_lines(*summary.fleet->operations, style);
  }
  return text + admission_table(summary, style) + "\n";
}

}  // namespace ridgeline::report
