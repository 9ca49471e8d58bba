#include "report/fleet_admission.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/result_tree.hpp"
#include "report/text_lines.hpp"
#include "report/tree.hpp"

namespace ridgeline::report {
namespace {

using metrics::AdmissionSummary;
using metrics::Distribution;
using metrics::Metric;
using metrics::Statistic;
using metrics::TenantSummary;

constexpr std::size_t kTenantNameWidth = 13;
constexpr std::size_t kTenantCellWidth = 10;
/// The other formats have all.
constexpr std::size_t kMostTenantRows = 16;
constexpr std::size_t kAdmissionMaxWidth = 100;
constexpr std::size_t kAdmissionMinWidth = 48;

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
  const auto width = static_cast<std::size_t>(std::max(style.width, 0));
  return wrapped(pad_right("admission", kTenantNameWidth),
                 pieces,
                 {.width = std::clamp(width, kAdmissionMinWidth, kAdmissionMaxWidth),
                  .indent = kTenantNameWidth,
                  .reset = style.palette.reset});
}

class TenantRows {
 public:
  TenantRows(const metrics::Summary& summary, const TextStyle& style)
      : style_(style),
        ttft_(unit_of(summary.client.of(Metric::kTtft))),
        tpot_(unit_of(summary.client.of(Metric::kTpot))) {}

  [[nodiscard]] std::string header() const {
    std::string line = pad_right("by tenant", kTenantNameWidth);
    for (const std::string& title : {std::string("requests"),
                                     std::string("refused"),
                                     fmt::format("TTFT {}", ttft_.name),
                                     std::string("p99"),
                                     fmt::format("TPOT {}", tpot_.name),
                                     std::string("p99"),
                                     std::string("share"),
                                     std::string("good")}) {
      line += pad_left(title, kTenantCellWidth);
    }
    return style_.palette.paint(style_.palette.dim, line) + "\n";
  }

  [[nodiscard]] std::string row(const TenantSummary& tenant) const {
    const std::string name =
        shortened(printable(tenant.name, style_.ascii), kTenantNameWidth - 1, style_.ascii);
    std::string line = pad_right(name, kTenantNameWidth) +
                       pad_left(grouped(tenant.requests), kTenantCellWidth) +
                       pad_left(grouped(tenant.rejected + tenant.expired), kTenantCellWidth);
    for (const auto& [values, unit] :
         {std::pair(&tenant.ttft_ms, ttft_), std::pair(&tenant.tpot_ms, tpot_)}) {
      for (const Statistic statistic : {Statistic::kP50, Statistic::kP99}) {
        line += pad_left(*values ? significant((*values)->of(statistic) * unit.per_ms) : missing(),
                         kTenantCellWidth);
      }
    }
    for (const auto& share : {tenant.share, tenant.good_share}) {
      line += pad_left(share ? percent(*share) : missing(), kTenantCellWidth);
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
  const TenantRows rows(summary, style);
  text += rows.header();
  for (std::size_t i = 0; i < std::min(tenants.size(), kMostTenantRows); ++i) {
    text += rows.row(tenants[i]);
  }
  if (tenants.size() > kMostTenantRows) {
    text += fmt::format("and {} more: --format json\n", tenants.size() - kMostTenantRows);
  }
  if (summary.fleet->fairness) {
    text += pad_right("fairness", kTenantNameWidth) +
            fmt::format("{:.3f} of 1 (Jain, tokens over shares)\n", *summary.fleet->fairness);
  }
  return text;
}

}  // namespace ridgeline::report
