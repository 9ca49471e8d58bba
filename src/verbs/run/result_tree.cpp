#include "verbs/run/result_tree.hpp"

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "latency/accuracy/error_tree.hpp"
#include "metrics/series_tree.hpp"
#include "metrics/summary_tree.hpp"
#include "verbs/run/engine_metrics.hpp"
#include "verbs/run/expected_error.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {
namespace {

using document::list_of;
using document::MapBuilder;
using document::number_node;

document::Node run_info_tree(const RunInfo& info) {
  MapBuilder map;
  map.add("version", info.version).add("wall_time_s", info.wall_time_s);
  if (info.host) {
    map.add("host", *info.host);
  }
  return map.add("engine_core", info.engine_core)
      .add("jumped_share", info.jumped_share)
      .add("requests_per_second", info.requests_per_second)
      .add("simulated_per_wall", info.simulated_per_wall);
}

document::Node stated_tree(const std::vector<std::pair<std::string, std::string>>& stated) {
  MapBuilder map;
  for (const auto& [path, value] : stated) {
    map.add(path, value);
  }
  return map;
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
    std::size_t place = 0;
    return list_of(node.items(), [&](const document::Node& item) {
      return finite_tree(item, fmt::format("{}[{}]", path, place++), warnings);
    });
  }
  if (node.kind() == document::Node::Kind::kReal && !std::isfinite(node.as_real())) {
    warnings.push_back(
        {.code = "W-no-number", .message = path + ": not a finite number", .hint = {}});
    return number_node(std::nullopt);
  }
  return node;
}

}  // namespace

document::Node deployment_tree(const Deployment& deployment) {
  return MapBuilder()
      .add("data_parallel_size", deployment.data_parallel_size)
      .add("loaded_ranks", deployment.loaded_ranks)
      .add("request_rate", deployment.request_rate)
      .add("rank_request_rate", deployment.rank_request_rate)
      .add("requests", deployment.requests)
      .add("rank_requests", deployment.rank_requests)
      .add("request_throughput", deployment.request_throughput)
      .add("output_throughput", deployment.output_throughput)
      .add("total_token_throughput", deployment.total_token_throughput)
      .add("goodput", deployment.goodput);
}

document::Node result_tree(const RunResult& result, SeriesIn series) {
  core::Warnings warnings = result.warnings;
  for (auto& warning : metrics::missing_numbers(result.summary)) {
    warnings.push_back(std::move(warning));
  }
  run_info_missing(result, warnings);
  const document::Node config = finite_tree(result.config, "config", warnings);
  const document::Node summary = metrics::summary_tree(result.summary);
  MapBuilder map;
  map.add("schema_version", kResultSchemaVersion)
      .add("run_info", run_info_tree(result.run_info))
      .add("headline", result.headline)
      .add("command", document::text_or_null(result.command))
      .add("stated", stated_tree(result.stated))
      .add("config", config)
      .add("summary", summary);
  const bool has_series = result.series && series != SeriesIn::kNothing;
  if (has_series) {
    map.add("series",
            series == SeriesIn::kTree ? metrics::series_tree(*result.series) : document::Node())
        .add_known("findings", result.findings)
        .add_known("mean_steps", result.mean_steps)
        .add_known("gpu_memory", result.gpu_memory);
  }
  map.add_known("engine_metrics", engine_metrics_tree(config, summary));
  if (result.deployment) {
    map.add("deployment", deployment_tree(*result.deployment));
  }
  if (!result.expected_errors.empty()) {
    map.add("expected_error", accuracy::expected_errors_tree(result.expected_errors));
  }
  if (!result.bound.empty()) {
    map.add("bound", result.bound);
  }
  map.add("warnings", warnings).add("digest", result.digest);
  if (result.partial) {
    map.add("partial", true);
  }
  return map.build();
}

}  // namespace ridgeline::verbs
