#include "verbs/trace_view.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "report/format.hpp"
#include "report/html_page.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"
#include "report/terminal_plot.hpp"

namespace ridgeline::verbs {
namespace {

using document::Node;
using report::figures::number_at;

constexpr std::size_t kTraceLabel = 14;

/// A number there, or a dash.
std::string number_of_trace(const Node& trace, std::string_view path) {
  const std::string text = report::cell_text(at_path(trace, path), report::Format::kSignificant);
  return text.empty() ? "\u2013" : text;
}

std::int64_t count(const Node& trace, std::string_view path) {
  constexpr double kLargest = 1e15;  // A file that is no trace may hold any number.
  return static_cast<std::int64_t>(std::clamp(number_at(trace, path), 0.0, kLargest));
}

report::TableView spread_view() {
  report::TableView view{.columns = {{.title = "tokens", .path = "name", .width = 12}}};
  for (const char* statistic : {"mean", "std", "p50", "p90", "p99", "max"}) {
    view.columns.push_back({.title = statistic,
                            .path = statistic,
                            .format = report::Format::kSignificant,
                            .width = 8});
  }
  return view;
}

std::vector<Node> spreads(const Node& trace) {
  std::vector<Node> rows;
  for (const char* const what : {"input", "output"}) {
    document::MapBuilder row;
    row.add("name", what);
    for (const auto& [key, value, where] : members_at(trace, fmt::format("{}_tokens", what))) {
      row.add(key, value);
    }
    rows.push_back(row);
  }
  return rows;
}

/// The requests over time as a row of characters.
std::string spark_line(const report::Rows& windows) {
  constexpr std::size_t kWidest = 60;
  const std::size_t per_mark = (windows.size() + kWidest - 1) / kWidest;
  std::vector<double> counts((windows.size() + per_mark - 1) / per_mark);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    counts[i / per_mark] += number_at(*windows[i], "requests");
  }
  return report::sparkline(counts, false);
}

const report::TableView kSizes{
    .columns = {{.title = "tokens of cache",
                 .path = "tokens",
                 .format = report::Format::kCount,
                 .width = 16},
                {.title = "find", .path = "hit_rate", .format = report::Format::kShare}}};

void add_reuse(const Node& reuse, report::Sheet& sheet) {
  if (node_at(reuse, "ideal").is_null()) {
    sheet.row("prompts do not say what they hold", "prefix reuse", kTraceLabel);
    return;
  }
  const double ideal = number_at(reuse, "ideal");
  sheet.row(fmt::format("{} of {} blocks of {} tokens at best; {} different ones",
                        report::percent(ideal),
                        report::grouped(count(reuse, "blocks")),
                        count(reuse, "block_tokens"),
                        report::grouped(count(reuse, "working_set_blocks"))),
            "prefix reuse",
            kTraceLabel);
  // A few sizes up to the one that holds nearly everything there is to find.
  constexpr double kNearlyAll = 0.98;
  constexpr std::ptrdiff_t kMostShown = 6;
  report::Rows sizes = report::rows_at(reuse, "by_cache_size");
  const auto enough = std::ranges::find_if(
      sizes, [&](const Node* size) { return number_at(*size, "hit_rate") >= kNearlyAll * ideal; });
  sizes.erase(enough == sizes.end() ? enough : enough + 1, sizes.end());
  sizes.erase(sizes.begin(), sizes.end() - std::min(std::ssize(sizes), kMostShown));
  if (!sizes.empty()) {
    sheet.table(kSizes, sizes);
  }
}

void add_labels(const std::string& title, const report::Rows& labels, report::Sheet& sheet) {
  constexpr std::size_t kMostNamed = 4;
  std::string line;
  for (std::size_t i = 0; i < std::min(labels.size(), kMostNamed); ++i) {
    line += fmt::format("{}{} {}",
                        i == 0 ? "" : ", ",
                        report::shortened(report::text_at(*labels[i], "name"), 24, true),
                        report::grouped(count(*labels[i], "requests")));
  }
  if (labels.size() > kMostNamed) {
    line += fmt::format(", and {} more", labels.size() - kMostNamed);
  }
  if (!labels.empty()) {
    sheet.row(line, title, kTraceLabel);
  }
}

}  // namespace

report::Sheet trace_sheet(const Node& trace) {
  report::Sheet sheet("Trace");
  sheet.row(fmt::format("{}: {} in {}",
                        report::text_at(trace, "format"),
                        report::counted(count(trace, "requests"), "request"),
                        report::human_duration(number_at(trace, "duration_s"))));
  sheet.row(fmt::format("{} req/s, {} at its peak; burstiness {}",
                        number_of_trace(trace, "request_rate"),
                        number_of_trace(trace, "peak_request_rate"),
                        number_of_trace(trace, "burstiness")),
            "rate",
            kTraceLabel);
  if (const auto windows = report::rows_at(trace, "rate_over_time"); windows.size() > 1) {
    sheet.row(spark_line(windows), "over time", kTraceLabel);
  }
  sheet.table(spread_view(), spreads(trace));
  sheet.row(number_of_trace(trace, "length_correlation"), "correlation", kTraceLabel);
  if (count(trace, "sessions") > 0) {
    sheet.row(fmt::format("{} of {} turns, {} sessions/s; waiting for an answer: {}",
                          report::grouped(count(trace, "sessions")),
                          number_of_trace(trace, "turns_per_session"),
                          number_of_trace(trace, "session_rate"),
                          report::counted(count(trace, "waiting_requests"), "request")),
              "sessions",
              kTraceLabel);
  }
  add_reuse(node_at(trace, "block_reuse"), sheet);
  add_labels("models", report::rows_at(trace, "models"), sheet);
  add_labels("tenants", report::rows_at(trace, "tenants"), sheet);
  add_labels("SLO classes", report::rows_at(trace, "slo_classes"), sheet);
  return std::move(sheet.warnings(document::warnings_of(node_at(trace, "warnings"))));
}

}  // namespace ridgeline::verbs
