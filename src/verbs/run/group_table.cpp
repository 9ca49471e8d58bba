#include "verbs/run/group_table.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "document/document.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "metrics/summary_tree.hpp"
#include "report/format.hpp"
#include "report/html_page.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {
namespace {

using metrics::Metric;
using metrics::Statistic;

constexpr std::size_t kGroupNameWidth = 15;
constexpr std::size_t kGroupCellWidth = 7;
/// Rows of each label; the other formats have all.
constexpr std::size_t kMostGroupRows = 8;

std::string group_name(const document::Node& group) {
  return group.find("value")->is_null() ? "(none)" : report::text_at(group, "value");
}

/// The groups of one label. On a narrow terminal medians go first, then what of the latencies
/// stands last.
report::TableView group_view(const metrics::Summary& summary, const std::string& label) {
  report::TableView view{
      .columns = {{.title = "by " + label,
                   .cell = group_name,
                   .width = kGroupNameWidth,
                   .most = kGroupNameWidth},
                  {.title = "requests", .path = "requests", .format = report::Format::kCount}},
      .most_rows = kMostGroupRows};
  int drop = 3;
  for (const auto& [name, metric] : {std::pair("ttft", Metric::kTtft),
                                     std::pair("tpot", Metric::kTpot),
                                     std::pair("e2e", Metric::kE2e)}) {
    const auto& whole = summary.client.of(metric);
    const report::TimeUnit unit = report::time_unit(whole ? whole->of(Statistic::kMean) : 1.0);
    for (const char* statistic : {"p50", "p99"}) {
      const bool is_median = statistic == std::string_view("p50");
      view.columns.push_back({.title = statistic,
                              .path = fmt::format("{}_ms.{}", name, statistic),
                              .format = report::Format::kSignificant,
                              .scale = unit.per_ms,
                              .above = fmt::format("{} {}", report::upper(name), unit.name),
                              .drop = is_median ? 3 + drop : 4 - drop});
    }
    --drop;
  }
  if (!summary.slo.empty()) {
    view.columns.push_back(
        {.title = "good", .path = "good_share", .format = report::Format::kShare});
  }
  for (std::size_t c = 1; c < view.columns.size(); ++c) {
    view.columns[c].width = kGroupCellWidth;
  }
  return view;
}

}  // namespace

std::string group_tables(const metrics::Summary& summary, const report::TextStyle& style) {
  if (summary.groups.empty()) {
    return {};
  }
  std::string text;
  const document::Node tree = metrics::summary_tree(summary);
  for (const auto& [label, groups, where] : tree.find("groups")->members()) {
    text += "\n" + report::render(group_view(summary, label),
                                  report::rows_of(groups.items()),
                                  report::Face::kTerminal,
                                  style);
  }
  return text + "\n";
}

}  // namespace ridgeline::verbs
