#include "report/result_tree.hpp"

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "domain/label_set.hpp"
#include "domain/record.hpp"
#include "domain/step.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "report/engine_metrics.hpp"
#include "report/expected_error.hpp"
#include "report/fleet.hpp"
#include "report/power.hpp"
#include "report/run_result.hpp"
#include "report/series.hpp"
#include "report/tree.hpp"

namespace ridgeline::report {
namespace {

using metrics::Distribution;
using metrics::LatencySummary;

void add_latencies(MapBuilder& map, const LatencySummary& latencies) {
  for (std::size_t m = 0; m < metrics::kNumMetrics; ++m) {
    map.add(std::string(metrics::kMetricNames[m]) + "_ms",
            distribution_tree(latencies.by_metric[m]));
  }
}

document::Node failed_tree(const metrics::Summary& summary) {
  MapBuilder map;
  for (const auto outcome :
       {domain::Outcome::kRejected, domain::Outcome::kAborted, domain::Outcome::kUnfinished}) {
    map.add(metrics::kOutcomeNames[static_cast<std::size_t>(outcome)],
            integer_node(summary.count(outcome)));
  }
  // Those that only a fleet knows.
  for (const auto outcome :
       {domain::Outcome::kFailed, domain::Outcome::kNoSuchModel, domain::Outcome::kExpired}) {
    if (const std::int64_t count = summary.count(outcome); count > 0) {
      map.add(metrics::kOutcomeNames[static_cast<std::size_t>(outcome)], integer_node(count));
    }
  }
  return map.build();
}

document::Node slo_tree(const std::vector<metrics::SloVerdict>& verdicts) {
  MapBuilder map;
  for (const auto& verdict : verdicts) {
    const auto statistic = static_cast<std::size_t>(verdict.statistic);
    map.add(metrics::kMetricNames[static_cast<std::size_t>(verdict.metric)],
            MapBuilder()
                .add("statistic", text_node(metrics::kStatisticNames[statistic]))
                .add("limit_ms", number_node(verdict.limit_ms))
                .add("value_ms", number_node(verdict.value_ms))
                .add("met", bool_node(verdict.met))
                .add("share", number_node(verdict.share))
                .build());
  }
  return map.build();
}

document::Node overload_tree(const metrics::Overload& overload) {
  const statistics::Backlog& backlog = overload.backlog;
  return MapBuilder()
      .add("waits_at", text_node(overload.at_client ? "client" : "engine"))
      .add("begin_s", number_node(backlog.begin_s))
      .add("end_s", number_node(backlog.end_s))
      .add("offered_rate", number_node(backlog.offered_rate))
      .add("sustainable_rate", number_node(backlog.sustainable_rate))
      .add("wait_growth", number_node(backlog.wait_growth))
      .build();
}

document::Node group_tree(const metrics::GroupSummary& group, bool judged) {
  MapBuilder map;
  map.add("value", group.name ? text_node(*group.name) : document::Node())
      .add("requests", integer_node(group.requests))
      .add("completed", integer_node(group.completed))
      .add("total_input_tokens", integer_node(group.total_input_tokens))
      .add("total_output_tokens", integer_node(group.total_output_tokens))
      .add("ttft_ms", distribution_tree(group.ttft_ms))
      .add("tpot_ms", distribution_tree(group.tpot_ms))
      .add("e2e_ms", distribution_tree(group.e2e_ms))
      .add("queue_time_ms", distribution_tree(group.queue_time_ms))
      .add("request_throughput", number_node(group.request_throughput))
      .add("output_throughput", number_node(group.output_throughput));
  if (judged) {
    map.add("goodput", number_node(group.goodput)).add("good_share", number_node(group.good_share));
  }
  return map.build();
}

/// By label, then the groups of it.
document::Node groups_tree(const metrics::Summary& summary) {
  MapBuilder map;
  for (std::size_t label = 0; label < domain::kNumLabels; ++label) {
    std::vector<document::Node> groups;
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

document::Node kv_cache_tree(const metrics::KvCacheSummary& kv_cache) {
  return MapBuilder()
      .add("peak", number_node(kv_cache.peak))
      .add("mean", number_node(kv_cache.mean))
      .add("prefix_hit_rate", number_node(kv_cache.prefix_hit_rate))
      .add("block_size", integer_node(kv_cache.block_size))
      .build();
}

document::Node bottleneck_tree(const metrics::Summary& summary) {
  MapBuilder map;
  for (std::size_t i = 0; i < domain::kNumBottlenecks; ++i) {
    map.add(domain::kBottleneckNames[i], number_node(summary.time_by_bottleneck[i].to_seconds()));
  }
  return map.build();
}

document::Node run_info_tree(const RunInfo& info) {
  MapBuilder map;
  map.add("version", text_node(info.version)).add("wall_time_s", number_node(info.wall_time_s));
  if (info.host) {
    map.add("host", text_node(*info.host));
  }
  return map.add("engine_core", text_node(info.engine_core))
      .add("jumped_share", number_node(info.jumped_share))
      .add("requests_per_second", number_node(info.requests_per_second))
      .add("simulated_per_wall", number_node(info.simulated_per_wall))
      .build();
}

/// Absent numbers of run_info whose reason is the run's, not the machine's: warnings must not
/// differ between two runs.
void run_info_missing(const RunResult& result, core::Warnings& warnings) {
  if (!result.run_info.jumped_share) {
    warnings.push_back({.code = "W-no-number",
                        .message = "run_info.jumped_share: the engine ran no step",
                        .hint = {}});
  }
  if (!result.summary.duration_s) {
    warnings.push_back({.code = "W-no-number",
                        .message = "run_info.simulated_per_wall: the run has no duration",
                        .hint = {}});
  }
}

/// A copy in which every number is one that JSON has; the others become null and are named.
document::Node finite_tree(const document::Node& node,
                           const std::string& path,
                           core::Warnings& warnings) {
  if (node.is_map()) {
    MapBuilder map;
    for (const auto& member : node.members()) {
      map.add(member.key, finite_tree(member.value, path + "." + member.key, warnings));
    }
    return map.build();
  }
  if (node.is_list()) {
    std::vector<document::Node> items;
    items.reserve(node.items().size());
    for (const auto& item : node.items()) {
      items.push_back(finite_tree(item, path + "[" + std::to_string(items.size()) + "]", warnings));
    }
    return list_node(std::move(items));
  }
  if (node.kind() == document::Node::Kind::kReal && !std::isfinite(node.as_real())) {
    warnings.push_back(
        {.code = "W-no-number", .message = path + ": not a finite number", .hint = {}});
    return number_node(std::nullopt);
  }
  return node;
}

}  // namespace

document::Node distribution_tree(const std::optional<Distribution>& distribution) {
  MapBuilder map;
  for (std::size_t i = 0; i < metrics::kNumStatistics; ++i) {
    map.add(metrics::kStatisticNames[i],
            number_node(distribution ? std::optional(distribution->values[i]) : std::nullopt));
  }
  return map.build();
}

document::Node summary_tree(const metrics::Summary& summary) {
  MapBuilder map;
  if (summary.warmup_requests) {
    map.add("warmup_requests", integer_node(*summary.warmup_requests));
  }
  map.add("completed", integer_node(summary.completed))
      .add("length_capped", integer_node(summary.count(domain::Outcome::kLengthCapped)))
      .add("failed", failed_tree(summary))
      .add("total_input_tokens", integer_node(summary.total_input_tokens))
      .add("total_output_tokens", integer_node(summary.total_output_tokens))
      .add("total_cached_tokens", integer_node(summary.total_cached_tokens))
      .add("duration_s", number_node(summary.duration_s));
  add_latencies(map, summary.client);
  MapBuilder server;
  add_latencies(server, summary.server);
  map.add("server", server.build())
      .add("queue_time_ms", distribution_tree(summary.queue_time_ms))
      .add("request_throughput", number_node(summary.request_throughput))
      .add("output_throughput", number_node(summary.output_throughput))
      .add("total_token_throughput", number_node(summary.total_token_throughput))
      .add("goodput", number_node(summary.goodput));
  if (!summary.slo.empty()) {
    map.add("good_share", number_node(summary.good_share)).add("slo", slo_tree(summary.slo));
  }
  map.add("overloaded", bool_node(summary.overload.has_value()));
  if (summary.overload) {
    map.add("overload", overload_tree(*summary.overload));
  }
  map.add("preemptions", integer_node(summary.preemptions))
      .add("kv_cache", kv_cache_tree(summary.kv_cache))
      .add("time_by_bottleneck", bottleneck_tree(summary))
      .add("busy_s", number_node(summary.busy.to_seconds()))
      .add("steps", integer_node(summary.steps));
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

document::Node deployment_tree(const Deployment& deployment) {
  MapBuilder map;
  return map.add("data_parallel_size", integer_node(deployment.data_parallel_size))
      .add("loaded_ranks", integer_node(deployment.loaded_ranks))
      .add("request_rate", number_node(deployment.request_rate))
      .add("rank_request_rate", number_node(deployment.rank_request_rate))
      .add("requests", deployment.requests ? integer_node(*deployment.requests) : document::Node())
      .add("rank_requests", integer_node(deployment.rank_requests))
      .add("request_throughput", number_node(deployment.request_throughput))
      .add("output_throughput", number_node(deployment.output_throughput))
      .add("total_token_throughput", number_node(deployment.total_token_throughput))
      .add("goodput", number_node(deployment.goodput))
      .build();
}

document::Node result_tree(const RunResult& result, SeriesIn series) {
  core::Warnings warnings = result.warnings;
  for (auto& warning : metrics::missing_numbers(result.summary)) {
    warnings.push_back(std::move(warning));
  }
  run_info_missing(result, warnings);
  const document::Node config = finite_tree(result.config, "config", warnings);
  const document::Node summary = summary_tree(result.summary);
  MapBuilder map;
  map.add("schema_version", integer_node(kResultSchemaVersion))
      .add("run_info", run_info_tree(result.run_info))
      .add("config", config)
      .add("summary", summary);
  const bool has_series = result.series && series != SeriesIn::kNothing;
  if (has_series) {
    map.add("series", series == SeriesIn::kTree ? series_tree(*result.series) : document::Node());
  }
  if (has_series && result.findings) {
    map.add("findings", *result.findings);
  }
  if (has_series && result.mean_steps) {
    map.add("mean_steps", *result.mean_steps);
  }
  if (has_series && result.gpu_memory) {
    map.add("gpu_memory", *result.gpu_memory);
  }
  if (auto metrics = engine_metrics_tree(config, summary)) {
    map.add("engine_metrics", *std::move(metrics));
  }
  if (result.deployment) {
    map.add("deployment", deployment_tree(*result.deployment));
  }
  if (!result.expected_errors.empty()) {
    map.add("expected_error", expected_errors_tree(result.expected_errors));
  }
  if (!result.bound.empty()) {
    map.add("bound", text_node(result.bound));
  }
  map.add("warnings", warnings_tree(warnings)).add("digest", text_node(result.digest));
  if (result.partial) {
    map.add("partial", bool_node(true));
  }
  return map.build();
}

}  // namespace ridgeline::report
