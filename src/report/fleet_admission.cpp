#include "report/fleet_admission.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "report/fleet_rows.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/result_tree.hpp"
#include "report/text_lines.hpp"
#include "report/tree.hpp"

namespace ridgeline::report {
namespace {

using metrics::AdmissionSummary;
using metrics::Statistic;
using metrics::TenantSummary;

document::Node tenant_tree(const TenantSummary& tenant) {
  MapBuilder map;
  map.add("name", text_node(tenant.name))
      .add("weight", number_node(tenant.weight))
      .add("requests", integer_node(tenant.requests))
      .add("completed", integer_node(tenant.completed))
      .add("rejected", integer_node(tenant.rejected))
      .add("expired", integer_node(tenant.expired))
      .add("total_input_tokens", integer_node(tenant.total_input_tokens))
      .add("total_output_tokens", integer_node(tenant.total_output_tokens))
      .add("share", number_node(tenant.share))
      .add("ttft_ms", distribution_tree(tenant.ttft_ms))
      .add("tpot_ms", distribution_tree(tenant.tpot_ms))
      .add("e2e_ms", distribution_tree(tenant.e2e_ms))
      .add("gateway_wait_ms", distribution_tree(tenant.gateway_wait_ms));
  if (tenant.good_share) {
    map.add("goodput", number_node(tenant.goodput))
        .add("good_share", number_node(tenant.good_share));
  }
  return map.build();
}

std::string admission_line(const AdmissionSummary& admission, const TextStyle& style) {
  std::vector<Piece> pieces = {
      {.text = admission.policy + (admission.flow_control ? " with flow control" : "")},
      {.text = grouped(admission.admitted) + " admitted"}};
  if (admission.evicted) {
    pieces.push_back({.text = grouped(*admission.evicted) + " evicted"});
  }
  for (const AdmissionSummary::Refused& refused : admission.rejected) {
    if (refused.requests > 0) {
      std::string reason = refused.reason;
      std::ranges::replace(reason, '_', ' ');
      pieces.push_back({.text = fmt::format("{} refused: {}", grouped(refused.requests), reason),
                        .colour = style.palette.bad});
    }
  }
  if (admission.flow_control && admission.queue_ms) {
    pieces.push_back({.text = fmt::format("queued {} ms, p99 {} ms",
                                          significant(admission.queue_ms->of(Statistic::kMean)),
                                          significant(admission.queue_ms->of(Statistic::kP99)))});
  }
  return fleet_line("admission", pieces, style);
}

}  // namespace

document::Node admission_tree(const AdmissionSummary& admission) {
  MapBuilder rejected;
  for (const AdmissionSummary::Refused& refused : admission.rejected) {
    rejected.add(refused.reason, integer_node(refused.requests));
  }
  MapBuilder map;
  map.add("policy", text_node(admission.policy))
      .add("flow_control", bool_node(admission.flow_control))
      .add("admitted", integer_node(admission.admitted))
      .add("rejected", rejected.build());
  if (admission.evicted) {
    map.add("evicted", integer_node(*admission.evicted));
  }
  if (admission.flow_control) {
    map.add("queue_ms", distribution_tree(admission.queue_ms));
  }
  return map.build();
}

document::Node tenants_tree(const metrics::FleetSummary& fleet) {
  std::vector<document::Node> tenants;
  for (const TenantSummary& tenant : fleet.tenants) {
    tenants.push_back(tenant_tree(tenant));
  }
  return list_node(std::move(tenants));
}

std::string admission_table(const metrics::Summary& summary, const TextStyle& style) {
  std::string text;
  if (summary.fleet->admission) {
    text += admission_line(*summary.fleet->admission, style);
  }
  const auto& tenants = summary.fleet->tenants;
  if (tenants.empty()) {
    return text;
  }
  const FleetRows rows(summary, style);
  text += rows.header("by tenant", {"requests", "refused"}, {"share", "good"}) +
          FleetRows::all(tenants.size(), [&](std::size_t i) {
            const TenantSummary& one = tenants[i];
            return rows.row(rows.title_of(one.name),
                            {one.requests, one.rejected + one.expired},
                            one.ttft_ms,
                            one.tpot_ms,
                            {one.share, one.good_share});
          });
  if (summary.fleet->fairness) {
    text += pad_right("fairness", kFleetTitleWidth) +
            fmt::format("{:.3f} of 1 (Jain, tokens over shares, whatever each asked for)",
                        *summary.fleet->fairness);
    if (summary.fleet->fairness_of_demand) {
      text += "\n" + std::string(kFleetTitleWidth, ' ') +
              fmt::format("{:.3f} over the fair part of what each asked for",
                          *summary.fleet->fairness_of_demand);
    }
    text += "\n";
  }
  return text;
}

}  // namespace ridgeline::report
