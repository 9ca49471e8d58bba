#include "report/fleet_pools.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "metrics/summary.hpp"
#include "report/fleet_rows.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/result_tree.hpp"
#include "report/text_lines.hpp"
#include "report/tree.hpp"

namespace ridgeline::report {
namespace {

using metrics::PoolSummary;

document::Node pool_tree(const PoolSummary& pool) {
  const metrics::InstanceSummary& all = pool.together;
  MapBuilder map;
  map.add("name", text_node(pool.name))
      .add("model", text_node(pool.model))
      .add("gpu", text_node(pool.gpu))
      .add("instances", integer_node(pool.instances))
      .add("gpus_per_instance", integer_node(pool.gpus))
      .add("requests", integer_node(all.requests))
      .add("completed", integer_node(all.completed))
      .add("total_input_tokens", integer_node(all.total_input_tokens))
      .add("total_output_tokens", integer_node(all.total_output_tokens))
      .add("total_cached_tokens", integer_node(all.total_cached_tokens))
      .add("output_throughput", number_node(pool.output_throughput))
      .add("ttft_ms", distribution_tree(all.ttft_ms))
      .add("tpot_ms", distribution_tree(all.tpot_ms))
      .add("e2e_ms", distribution_tree(all.e2e_ms))
      .add("queue_time_ms", distribution_tree(all.queue_time_ms))
      .add("busy", number_node(all.busy))
      .add("kv_peak", number_node(all.kv_peak))
      .add("prefix_hit_rate", number_node(all.prefix_hit_rate))
      .add("gpu_hours", number_node(pool.gpu_hours));
  if (pool.cost) {
    map.add("cost", number_node(pool.cost));
  }
  return map.build();
}

/// What its instances are, and cost.
std::string made_of(const PoolSummary& pool) {
  std::string text = fmt::format("{}: {} of {} on {} {}",
                                 pool.name,
                                 counted(pool.instances, "instance"),
                                 pool.model,
                                 pool.gpus,
                                 pool.gpu);
  text += fmt::format(", {} GPU hours", significant(pool.gpu_hours));
  if (pool.cost) {
    text += fmt::format(", cost {} USD", significant(*pool.cost));
  }
  return text;
}

}  // namespace

document::Node pools_tree(const metrics::FleetSummary& fleet) {
  std::vector<document::Node> pools;
  for (const PoolSummary& pool : fleet.pools) {
    pools.push_back(pool_tree(pool));
  }
  return list_node(std::move(pools));
}

std::string pools_table(const metrics::Summary& summary, const TextStyle& style) {
  const std::vector<PoolSummary>& pools = summary.fleet->pools;
  if (pools.empty()) {
    return {};
  }
  const FleetRows rows(summary, style);
  std::vector<Piece> pieces;
  for (const PoolSummary& pool : pools) {
    pieces.push_back({.text = printable(made_of(pool), style.ascii)});
  }
  return fleet_line("pools", pieces, style) +
         rows.header("by pool", {"requests"}, {"busy", "KV peak", "hits"}) +
         FleetRows::all(pools.size(), [&](std::size_t place) {
           const metrics::InstanceSummary& all = pools[place].together;
           return rows.row(rows.title_of(pools[place].name),
                           {all.requests},
                           all.ttft_ms,
                           all.tpot_ms,
                           {all.busy, all.kv_peak, all.prefix_hit_rate});
         });
}

}  // namespace ridgeline::report
