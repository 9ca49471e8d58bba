#include "workload/trace_tree.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "workload/trace_stats.hpp"

namespace ridgeline::workload {
namespace {

using document::list_of;
using document::MapBuilder;
using document::Node;

constexpr std::int64_t kTraceSchemaVersion = 1;

Node spread_tree(const TokenSpread& spread) {
  return MapBuilder()
      .add("mean", spread.mean)
      .add("std", spread.std)
      .add("p50", spread.p50)
      .add("p90", spread.p90)
      .add("p99", spread.p99)
      .add("max", spread.max);
}

Node reuse_tree(const BlockReuse& reuse) {
  return MapBuilder()
      .add("ideal", reuse.ideal)
      .add("block_tokens", reuse.block_tokens)
      .add("blocks", reuse.blocks)
      .add("repeated_blocks", reuse.repeated)
      .add("working_set_blocks", reuse.working_set)
      .add("by_cache_size", list_of(reuse.by_cache_size, [&](const auto& point) -> Node {
             return MapBuilder()
                 .add("blocks", point.blocks)
                 .add("tokens", point.tokens)
                 .add("hit_rate", point.hit_rate);
           }));
}

Node labels_tree(const std::vector<LabelCount>& labels) {
  return list_of(labels, [&](const auto& label) -> Node {
    return MapBuilder().add("name", label.name).add("requests", label.requests);
  });
}

Node windows_tree(const std::vector<TraceWindow>& windows) {
  return list_of(windows, [&](const auto& window) -> Node {
    return MapBuilder()
        .add("start_s", window.start_s)
        .add("requests", window.requests)
        .add("input_tokens", window.input_tokens)
        .add("output_tokens", window.output_tokens);
  });
}

}  // namespace

Node trace_tree(const TraceStats& stats) {
  return MapBuilder()
      .add("schema_version", kTraceSchemaVersion)
      .add("format", stats.format)
      .add("requests", stats.requests)
      .add("duration_s", stats.duration_s)
      .add("request_rate", stats.request_rate)
      .add("peak_request_rate", stats.peak_rate)
      .add("burstiness", stats.burstiness)
      .add("gap_cv", stats.gap_cv)
      .add("input_tokens", spread_tree(stats.input_tokens))
      .add("output_tokens", spread_tree(stats.output_tokens))
      .add("total_input_tokens", stats.total_input_tokens)
      .add("total_output_tokens", stats.total_output_tokens)
      .add("length_correlation", stats.length_correlation)
      .add("sessions", stats.sessions)
      .add("turns_per_session",
           stats.sessions > 0 ? std::optional(stats.turns_per_session) : std::nullopt)
      .add("session_rate", stats.session_rate)
      .add("waiting_requests", stats.waiting)
      .add("images", stats.images)
      .add("models", labels_tree(stats.models))
      .add("tenants", labels_tree(stats.tenants))
      .add("slo_classes", labels_tree(stats.slo_classes))
      .add("block_reuse", reuse_tree(stats.reuse))
      .add("rate_over_time", windows_tree(stats.windows))
      .add("warnings", stats.warnings);
}

}  // namespace ridgeline::workload
