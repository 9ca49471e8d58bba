#include "report/operations.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "metrics/operations_summary.hpp"
#include "report/fleet_rows.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/result_tree.hpp"
#include "report/text_lines.hpp"
#include "report/tree.hpp"

namespace ridgeline::report {
namespace {

using metrics::FaultSummary;
using metrics::OperationsSummary;
using metrics::RetriesSummary;
using metrics::ScaleEventSummary;
using metrics::ScalingSummary;
using metrics::UpdateSummary;

/// Faults that the table names; the other formats have all.
constexpr std::size_t kMostFaults = 4;

document::Node scaling_tree(const ScalingSummary& scaling) {
  MapBuilder map;
  std::vector<document::Node> events;
  for (const ScaleEventSummary& event : scaling.events) {
    MapBuilder one;
    one.add("at_s", number_node(event.at_s));
    if (!event.pool.empty()) {
      one.add("pool", text_node(event.pool));
    }
    one.add("from", integer_node(event.from))
        .add("to", integer_node(event.to))
        .add("reason", text_node(event.reason));
    events.push_back(one.build());
  }
  if (!scaling.policy.empty()) {
    map.add("policy", text_node(scaling.policy)).add("events", list_node(std::move(events)));
  }
  map.add("replica_seconds", number_node(scaling.replica_seconds))
      .add("gpu_hours", number_node(scaling.gpu_hours));
  if (scaling.cost) {
    map.add("cost", number_node(scaling.cost));
  }
  return map.build();
}

document::Node faults_tree(const std::vector<FaultSummary>& faults) {
  std::vector<document::Node> list;
  for (const FaultSummary& fault : faults) {
    MapBuilder map;
    map.add("kind", text_node(fault.kind));
    if (fault.instance) {
      map.add("instance", integer_node(*fault.instance));
    }
    if (fault.host) {
      map.add("host", integer_node(*fault.host));
    }
    map.add("at_s", number_node(fault.at_s))
        .add("over_s", number_node(fault.over_s))
        .add("failed_requests", integer_node(fault.failed_requests));
    list.push_back(map.build());
  }
  return list_node(std::move(list));
}

std::string fault_text(const FaultSummary& fault) {
  std::string text = fmt::format("{} at {} s", fault.name(), significant(fault.at_s));
  if (fault.failed_requests > 0) {
    text += fmt::format(", {} lost", counted(fault.failed_requests, "request"));
  }
  if (fault.over_s && *fault.over_s > fault.at_s) {
    text += fmt::format(", over after {} s", significant(*fault.over_s - fault.at_s));
  }
  return text;
}

std::string scaling_line(const ScalingSummary& scaling, const TextStyle& style) {
  std::vector<Piece> pieces;
  if (!scaling.policy.empty()) {
    pieces.push_back({.text = scaling.policy});
    for (const std::string& pool : scaling.pools) {
      std::int64_t up = 0;
      std::int64_t down = 0;
      std::int64_t most = 0;
      for (const ScaleEventSummary& event : scaling.events) {
        if (event.pool == pool) {
          up += event.to > event.from ? 1 : 0;
          down += event.to < event.from ? 1 : 0;
          most = std::max({most, event.from, event.to});
        }
      }
      if (most == 0 && (!pool.empty() || !scaling.events.empty())) {
        continue;
      }
      pieces.push_back(
          {.text = fmt::format(
               "{}{}{} up, {} down", pool, pool.empty() ? "" : " ", counted(up, "time"), down)});
      if (most > 0) {
        pieces.push_back({.text = fmt::format("{} at most", counted(most, "instance"))});
      }
    }
  }
  if (scaling.pools.size() > 1 && scaling.events.empty()) {
    pieces.push_back({.text = "no change"});
  }
  pieces.push_back({.text = fmt::format("{} GPU hours", significant(scaling.gpu_hours))});
  if (scaling.cost) {
    pieces.push_back({.text = fmt::format("cost {} USD", significant(*scaling.cost))});
  }
  return fleet_line("scaling", pieces, style);
}

std::string faults_line(const OperationsSummary& operations, const TextStyle& style) {
  std::vector<Piece> pieces;
  const auto& faults = operations.faults;
  for (std::size_t i = 0; i < std::min(faults.size(), kMostFaults); ++i) {
    pieces.push_back({.text = fault_text(faults[i])});
  }
  if (faults.size() > kMostFaults) {
    std::int64_t lost = 0;
    for (const FaultSummary& fault : faults) {
      lost += fault.failed_requests;
    }
    pieces.push_back(
        {.text = fmt::format("{} in all, {} lost",
                             counted(static_cast<std::int64_t>(faults.size()), "fault"),
                             counted(lost, "request"))});
  }
  if (operations.held_requests > 0) {
    pieces.push_back({.text = fmt::format("{} waited for an instance",
                                          counted(operations.held_requests, "request"))});
  }
  return pieces.empty() ? "" : fleet_line("faults", pieces, style);
}

document::Node updates_tree(const std::vector<UpdateSummary>& updates) {
  std::vector<document::Node> list;
  for (const UpdateSummary& update : updates) {
    MapBuilder map;
    if (!update.pool.empty()) {
      map.add("pool", text_node(update.pool));
    }
    map.add("at_s", number_node(update.at_s))
        .add("over_s", number_node(update.over_s))
        .add("instances", integer_node(update.instances))
        .add("replaced", integer_node(update.replaced))
        .add("starting", integer_node(update.starting))
        .add("fewest_ready", integer_node(update.fewest_ready))
        .add("failed_requests", integer_node(update.failed_requests))
        .add("rerouted_requests", integer_node(update.rerouted_requests));
    list.push_back(map.build());
  }
  return list_node(std::move(list));
}

std::string update_lines(const std::vector<UpdateSummary>& updates, const TextStyle& style) {
  std::vector<Piece> pieces;
  for (const UpdateSummary& update : updates) {
    std::string text = fmt::format("{}{}{} of {} replaced from {} s on",
                                   update.pool,
                                   update.pool.empty() ? "" : " ",
                                   update.replaced,
                                   counted(update.instances, "instance"),
                                   significant(update.at_s));
    text += update.over_s
                ? fmt::format(", over after {} s", significant(*update.over_s - update.at_s))
                : std::string(", not over by the end");
    if (update.starting > 0) {
      text += fmt::format(", {} still starting", counted(update.starting, "new instance"));
    }
    pieces.push_back({.text = std::move(text)});
    pieces.push_back({.text = fmt::format("{} ready at least", update.fewest_ready)});
    if (update.failed_requests > 0) {
      pieces.push_back({.text = fmt::format("{} lost, {} of them sent again",
                                            counted(update.failed_requests, "request"),
                                            update.rerouted_requests)});
    }
  }
  return pieces.empty() ? "" : fleet_line("update", pieces, style);
}

std::string retries_line(const RetriesSummary& retries, const TextStyle& style) {
  if (retries.attempts == 0 && retries.wasted_tokens == 0) {
    return "";
  }
  return fleet_line("retries",
                    {{.text = fmt::format("{} sent again, {}",
                                          counted(retries.retried_requests, "request"),
                                          counted(retries.attempts, "further attempt"))},
                     {.text = fmt::format("{} wasted", counted(retries.wasted_tokens, "token"))}},
                    style);
}

}  // namespace

void add_operations(const OperationsSummary& operations, MapBuilder& cluster) {
  if (operations.scaling) {
    cluster.add("scaling", scaling_tree(*operations.scaling));
  }
  if (operations.retries) {
    if (!operations.updates.empty() || operations.late_updates > 0) {
      cluster.add("updates", updates_tree(operations.updates));
    }
    cluster.add("faults", faults_tree(operations.faults))
        .add("held_requests", integer_node(operations.held_requests))
        .add("retries",
             MapBuilder()
                 .add("attempts", integer_node(operations.retries->attempts))
                 .add("retried_requests", integer_node(operations.retries->retried_requests))
                 .add("wasted_tokens", integer_node(operations.retries->wasted_tokens))
                 .build());
  }
}

std::string operations_lines(const OperationsSummary& operations, const TextStyle& style) {
  std::string text;
  if (operations.scaling) {
    text += scaling_line(*operations.scaling, style);
  }
  text += update_lines(operations.updates, style);
  text += faults_line(operations, style);
  if (operations.retries) {
    text += retries_line(*operations.retries, style);
  }
  return text;
}

}  // namespace ridgeline::report
