#include "metrics/summary_tree.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "domain/label_set.hpp"
#include "domain/record.hpp"
#include "domain/step.hpp"
#include "metrics/fleet_tree.hpp"
#include "metrics/power_summary.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {
namespace {

using document::list_node;
using document::MapBuilder;
using document::Node;
using document::text_node;

void add_latencies(MapBuilder& map, const LatencySummary& latencies) {
  for (std::size_t m = 0; m < kNumMetrics; ++m) {
    map.add(std::string(kMetricNames[m]) + "_ms", distribution_tree(latencies.by_metric[m]));
  }
}

Node failed_tree(const Summary& summary) {
  MapBuilder map;
  for (const auto outcome :
       {domain::Outcome::kRejected, domain::Outcome::kAborted, domain::Outcome::kUnfinished}) {
    map.add(kOutcomeNames[static_cast<std::size_t>(outcome)], summary.count(outcome));
  }
  // Those that only a fleet knows.
  for (const auto outcome :
       {domain::Outcome::kFailed, domain::Outcome::kNoSuchModel, domain::Outcome::kExpired}) {
    if (const std::int64_t count = summary.count(outcome); count > 0) {
      map.add(kOutcomeNames[static_cast<std::size_t>(outcome)], count);
    }
  }
  return map.build();
}

Node slo_tree(const std::vector<SloVerdict>& verdicts) {
  MapBuilder map;
  for (const auto& verdict : verdicts) {
    const auto statistic = static_cast<std::size_t>(verdict.statistic);
    map.add(kMetricNames[static_cast<std::size_t>(verdict.metric)],
            MapBuilder()
                .add("statistic", kStatisticNames[statistic])
                .add("limit_ms", verdict.limit_ms)
                .add("value_ms", verdict.value_ms)
                .add("met", verdict.met)
                .add("share", verdict.share));
  }
  return map.build();
}

Node overload_tree(const Overload& overload) {
  const statistics::Backlog& backlog = overload.backlog;
  return MapBuilder()
      .add("waits_at", overload.at_client ? "client" : "engine")
      .add("begin_s", backlog.begin_s)
      .add("end_s", backlog.end_s)
      .add("offered_rate", backlog.offered_rate)
      .add("sustainable_rate", backlog.sustainable_rate)
      .add("wait_growth", backlog.wait_growth)
      .add("whole_run", backlog.whole_run)
      .add("served_only", overload.served_only);
}

Node group_tree(const GroupSummary& group, bool judged) {
  MapBuilder map;
  map.add("value", group.name ? text_node(*group.name) : Node())
      .add("requests", group.requests)
      .add("completed", group.completed)
      .add("total_input_tokens", group.total_input_tokens)
      .add("total_output_tokens", group.total_output_tokens)
      .add("ttft_ms", distribution_tree(group.ttft_ms))
      .add("tpot_ms", distribution_tree(group.tpot_ms))
      .add("e2e_ms", distribution_tree(group.e2e_ms))
      .add("queue_time_ms", distribution_tree(group.queue_time_ms))
      .add("request_throughput", group.request_throughput)
      .add("output_throughput", group.output_throughput);
  if (judged) {
    map.add("goodput", group.goodput).add("good_share", group.good_share);
  }
  return map.build();
}

/// By label, then the groups of it.
Node groups_tree(const Summary& summary) {
  MapBuilder map;
  for (std::size_t label = 0; label < domain::kNumLabels; ++label) {
    std::vector<Node> groups;
    for (const auto& group : summary.groups) {
      if (group.label == static_cast<domain::Label>(label)) {
        groups.push_back(group_tree(group, !summary.slo.empty()));
      }
    }
    if (!groups.empty()) {
      map.add(domain::kLabelNames[label], list_node(std::move(groups)));
    }
  }
  return map.build();
}

Node kv_cache_tree(const KvCacheSummary& kv_cache) {
  return MapBuilder()
      .add("peak", kv_cache.peak)
      .add("mean", kv_cache.mean)
      .add("prefix_hit_rate", kv_cache.prefix_hit_rate)
      .add("block_size", kv_cache.block_size);
}

Node bottleneck_tree(const Summary& summary) {
  MapBuilder map;
  for (std::size_t i = 0; i < domain::kNumBottlenecks; ++i) {
    map.add(domain::kBottleneckNames[i], summary.time_by_bottleneck[i].to_seconds());
  }
  return map.build();
}

Node power_tree(const PowerSummary& power) {
  return MapBuilder()
      .add("watts_per_gpu", power.mean)
      .add("low", power.low)
      .add("high", power.high)
      .add("decode", power.decode)
      .add("prefill", power.prefill)
      .add("idle", power.idle)
      .add("joules_per_output_token", power.joules_per_output_token)
      .add("law", power.own_law ? "measured" : "of other GPUs");
}

}  // namespace

Node distribution_tree(const std::optional<Distribution>& distribution) {
  MapBuilder map;
  for (std::size_t i = 0; i < kNumStatistics; ++i) {
    map.add(kStatisticNames[i],
            distribution ? std::optional(distribution->values[i]) : std::nullopt);
  }
  return map.build();
}

Node summary_tree(const Summary& summary) {
  MapBuilder map;
  if (summary.warmup_requests) {
    map.add("warmup_requests", *summary.warmup_requests);
  }
  map.add("completed", summary.completed)
      .add("length_capped", summary.count(domain::Outcome::kLengthCapped))
      .add("failed", failed_tree(summary))
      .add("total_input_tokens", summary.total_input_tokens)
      .add("total_output_tokens", summary.total_output_tokens)
      .add("total_cached_tokens", summary.total_cached_tokens)
      .add("duration_s", summary.duration_s);
  add_latencies(map, summary.client);
  MapBuilder server;
  add_latencies(server, summary.server);
  map.add("server", server.build())
      .add("queue_time_ms", distribution_tree(summary.queue_time_ms))
      .add("request_throughput", summary.request_throughput)
      .add("output_throughput", summary.output_throughput)
      .add("total_token_throughput", summary.total_token_throughput)
      .add("goodput", summary.goodput);
  if (!summary.slo.empty()) {
    map.add("good_share", summary.good_share).add("slo", slo_tree(summary.slo));
  }
  map.add("overloaded", summary.overload.has_value());
  if (summary.overload) {
    map.add("overload", overload_tree(*summary.overload));
  }
  map.add("preemptions", summary.preemptions)
      .add("kv_cache", kv_cache_tree(summary.kv_cache))
      .add("time_by_bottleneck", bottleneck_tree(summary))
      .add("busy_s", summary.busy.to_seconds())
      .add("steps", summary.steps);
  if (summary.power) {
    map.add("power", power_tree(*summary.power));
  }
  if (!summary.groups.empty()) {
    map.add("groups", groups_tree(summary));
  }
  if (summary.fleet) {
    map.add("cluster", fleet_tree(*summary.fleet));
  }
  return map.build();
}

}  // namespace ridgeline::metrics
