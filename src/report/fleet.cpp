#include "report/fleet.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "report/fleet_admission.hpp"
#include "report/format.hpp"
#include "report/operations.hpp"
#include "report/palette.hpp"
#include "report/result_tree.hpp"
#include "report/text_lines.hpp"
#include "report/transfers.hpp"
#include "report/tree.hpp"

namespace ridgeline::report {
namespace {

using metrics::Distribution;
using metrics::FleetSummary;
using metrics::InstanceSummary;
using metrics::Metric;
using metrics::Statistic;

constexpr std::size_t kInstanceWidth = 13;
constexpr std::size_t kCellWidth = 10;
/// The other formats have all.
constexpr std::size_t kMostRows = 16;
constexpr std::size_t kMaxWidth = 100;
constexpr std::size_t kMinWidth = 48;

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
std::string gateway_line(const FleetSummary& fleet, const TextStyle& style) {
  std::vector<Piece> pieces = {
      {.text = fleet.router},
      {.text = counted(fleet.decisions, "decision")},
      {.text = fmt::format("{} by a draw among equals", grouped(fleet.ties))}};
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
  const auto width = static_cast<std::size_t>(std::max(style.width, 0));
  return wrapped(pad_right(counted(static_cast<std::int64_t>(fleet.instances.size()), "instance"),
                           kInstanceWidth),
                 pieces,
                 {.width = std::clamp(width, kMinWidth, kMaxWidth),
                  .indent = kInstanceWidth,
                  .reset = style.palette.reset});
}

class InstanceRows {
 public:
  InstanceRows(const metrics::Summary& summary, const TextStyle& style)
      : style_(style),
        ttft_(unit_of(summary.client.of(Metric::kTtft))),
        tpot_(unit_of(summary.client.of(Metric::kTpot))) {}

  [[nodiscard]] std::string header() const {
    std::string line = pad_right("by instance", kInstanceWidth);
    for (const std::string& title : {std::string("requests"),
                                     fmt::format("TTFT {}", ttft_.name),
                                     std::string("p99"),
                                     fmt::format("TPOT {}", tpot_.name),
                                     std::string("p99"),
                                     std::string("busy"),
                                     std::string("KV peak"),
                                     std::string("hits")}) {
      line += pad_left(title, kCellWidth);
    }
    return style_.palette.paint(style_.palette.dim, line) + "\n";
  }

  [[nodiscard]] std::string row(std::size_t id, const InstanceSummary& instance) const {
    std::string line = pad_right(fmt::format("{}", id), kInstanceWidth) +
                       pad_left(grouped(instance.requests), kCellWidth);
    for (const auto& [values, unit] :
         {std::pair(&instance.ttft_ms, ttft_), std::pair(&instance.tpot_ms, tpot_)}) {
      for (const Statistic statistic : {Statistic::kP50, Statistic::kP99}) {
        line += pad_left(*values ? significant((*values)->of(statistic) * unit.per_ms) : missing(),
                         kCellWidth);
      }
    }
    for (const auto& share : {instance.busy, instance.kv_peak, instance.prefix_hit_rate}) {
      line += pad_left(share ? percent(*share) : missing(), kCellWidth);
    }
    return line + "\n";
  }

 private:
  [[nodiscard]] static TimeUnit unit_of(const std::optional<Distribution>& values) {
    return time_unit(values ? values->of(Statistic::kMean) : 1.0);
  }
  [[nodiscard]] std::string missing() const { return style_.ascii ? "-" : "\u2013"; }

  const TextStyle& style_;
  TimeUnit ttft_;
  TimeUnit tpot_;
};

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
  map.add("per_instance", list_node(std::move(instances)));
  if (fleet.admission) {
    map.add("admission", admission_tree(*fleet.admission));
  }
  if (!fleet.tenants.empty()) {
    map.add("per_tenant", tenants_tree(fleet)).add("fairness", number_node(fleet.fairness));
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
  const InstanceRows rows(summary, style);
  std::string text = "\n" + gateway_line(*summary.fleet, style);
  if (summary.fleet->transfers) {
    text += transfers_lines(*summary.fleet->transfers, instances.size(), style);
  }
  text += rows.header();
  for (std::size_t id = 0; id < std::min(instances.size(), kMostRows); ++id) {
    text += rows.row(id, instances[id]);
  }
  if (instances.size() > kMostRows) {
    text += fmt::format("and {} more: --format json\n", instances.size() - kMostRows);
  }
  if (summary.fleet->operations) {
    text += operations_lines(*summary.fleet->operations, style);
  }
  return text + admission_table(summary, style) + "\n";
}

}  // namespace ridgeline::report
