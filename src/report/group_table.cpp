#include "report/group_table.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "domain/label_set.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {
namespace {

using metrics::Distribution;
using metrics::GroupSummary;
using metrics::Metric;
using metrics::Statistic;

constexpr std::size_t kGroupNameWidth = 16;
constexpr std::size_t kCellWidth = 9;
/// Rows per label in this table; the other formats show every group.
constexpr std::size_t kMostGroupRows = 8;

/// One statistic of one latency, in the unit that suits the whole run's.
struct GroupColumn {
  std::string title;
  const std::optional<Distribution> GroupSummary::* values;
  Statistic statistic;
  double per_ms;
};

class GroupTable {
 public:
  GroupTable(const metrics::Summary& summary, const TextStyle& style)
      : summary_(summary), style_(style) {
    add_latency("TTFT", Metric::kTtft, &GroupSummary::ttft_ms);
    add_latency("TPOT", Metric::kTpot, &GroupSummary::tpot_ms);
    add_latency("E2E", Metric::kE2e, &GroupSummary::e2e_ms);
    // Medians go first, then what of the latencies stands last.
    const auto width = static_cast<std::size_t>(std::max(style.width, 0));
    while (!columns_.empty() && total_width() > width) {
      const auto median = std::ranges::find(columns_, Statistic::kP50, &GroupColumn::statistic);
      columns_.erase(median != columns_.end() ? median : columns_.end() - 1);
    }
  }

  [[nodiscard]] std::string render(domain::Label label) const {
    std::vector<const GroupSummary*> groups;
    for (const auto& group : summary_.groups) {
      if (group.label == label) {
        groups.push_back(&group);
      }
    }
    if (groups.empty()) {
      return {};
    }
    std::string text = header(label);
    for (std::size_t i = 0; i < std::min(groups.size(), kMostGroupRows); ++i) {
      text += row(*groups[i]);
    }
    if (groups.size() > kMostGroupRows) {
      text += fmt::format("and {} more: --format json\n", groups.size() - kMostGroupRows);
    }
    return text;
  }

 private:
  [[nodiscard]] bool judged() const { return !summary_.slo.empty(); }
  [[nodiscard]] std::size_t total_width() const {
    return kGroupNameWidth + kCellWidth * (columns_.size() + (judged() ? 2 : 1));
  }

  void add_latency(std::string_view name,
                   Metric metric,
                   const std::optional<Distribution> GroupSummary::* values) {
    const auto& whole = summary_.client.of(metric);
    const TimeUnit unit = time_unit(whole ? whole->of(Statistic::kMean) : 1.0);
    for (const Statistic statistic : {Statistic::kP50, Statistic::kP99}) {
      columns_.push_back({.title = fmt::format("{} {}", name, unit.name),
                          .values = values,
                          .statistic = statistic,
                          .per_ms = unit.per_ms});
    }
  }

  [[nodiscard]] std::string header(domain::Label label) const {
    const std::string name = domain::kLabelNames[static_cast<std::size_t>(label)];
    std::string titles(kGroupNameWidth + kCellWidth, ' ');
    std::string line = pad_right("by " + name, kGroupNameWidth) + pad_left("requests", kCellWidth);
    std::string_view last;
    for (const GroupColumn& column : columns_) {
      titles += pad_left(column.title == last ? "" : column.title, kCellWidth);
      line += pad_left(metrics::kStatisticNames[static_cast<std::size_t>(column.statistic)],
                       kCellWidth);
      last = column.title;
    }
    line += judged() ? pad_left("good", kCellWidth) : "";
    titles.erase(titles.find_last_not_of(' ') + 1);
    const auto dim = [this](const std::string& text) {
      return style_.palette.paint(style_.palette.dim, text) + "\n";
    };
    return dim(titles) + dim(line);
  }

  [[nodiscard]] std::string row(const GroupSummary& group) const {
    const std::string missing = style_.ascii ? "-" : "\u2013";
    const std::string name = group.name ? printable(*group.name, style_.ascii) : "(none)";
    std::string line =
        pad_right(shortened(name, kGroupNameWidth - 1, style_.ascii), kGroupNameWidth) +
        pad_left(grouped(group.requests), kCellWidth);
    for (const GroupColumn& column : columns_) {
      const auto& values = group.*column.values;
      line += pad_left(values ? significant(values->of(column.statistic) * column.per_ms) : missing,
                       kCellWidth);
    }
    if (judged()) {
      line += pad_left(group.good_share ? percent(*group.good_share) : missing, kCellWidth);
    }
    return line + "\n";
  }

  const metrics::Summary& summary_;
  const TextStyle& style_;
  std::vector<GroupColumn> columns_;
};

}  // namespace

std::string group_tables(const metrics::Summary& summary, const TextStyle& style) {
  const GroupTable table(summary, style);
  std::string text;
  for (std::size_t label = 0; label < domain::kNumLabels; ++label) {
    const std::string of_label = table.render(static_cast<domain::Label>(label));
    text += of_label.empty() ? "" : "\n" + of_label;
  }
  return text.empty() ? text : text + "\n";
}

}  // namespace ridgeline::report
