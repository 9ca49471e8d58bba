#include "verbs/trace_view.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_path.hpp"
#include "report/figures/figure.hpp"
#include "report/format.hpp"
#include "report/html_page.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"
#include "report/warning_lines.hpp"

namespace ridgeline::verbs {
namespace {

using document::Node;
using report::figures::number_at;

/// A number there, or a dash.
std::string number(const Node& trace, std::string_view path, const report::TextStyle& style) {
  const std::string text = report::cell_text(at_path(trace, path), report::Format::kSignificant);
  return !text.empty() ? text : style.ascii ? "-" : "\u2013";
}

std::int64_t count(const Node& trace, std::string_view path) {
  constexpr double kLargest = 1e15;  // A file that is no trace may hold any number.
  return static_cast<std::int64_t>(std::clamp(number_at(trace, path), 0.0, kLargest));
}

std::string spread_table(const Node& trace, const report::TextStyle& style) {
  report::TableView view{.columns = {{.title = "tokens", .path = "name", .width = 12}}};
  for (const char* statistic : {"mean", "std", "p50", "p90", "p99", "max"}) {
    view.columns.push_back({.title = statistic,
                            .path = fmt::format("of.{}", statistic),
                            .format = report::Format::kSignificant,
                            .width = 8});
  }
  const auto row = [&](const char* name, const char* key) -> Node {
    return document::MapBuilder().add("name", name).add("of", node_at(trace, key));
  };
  const std::vector<Node> rows = {row("input", "input_tokens"), row("output", "output_tokens")};
  return report::render(view, report::rows_of(rows), report::Face::kTerminal, style);
}

/// The rate over time as a row of eighths of a block.
std::string spark_line(const report::Rows& windows, const report::TextStyle& style) {
  if (style.ascii || windows.size() < 2) {
    return {};
  }
  constexpr std::size_t kWidest = 60;
  const std::size_t per_mark = (windows.size() + kWidest - 1) / kWidest;
  std::vector<std::int64_t> counts((windows.size() + per_mark - 1) / per_mark);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    counts[i / per_mark] += count(*windows[i], "requests");
  }
  const std::int64_t most = std::max<std::int64_t>(*std::ranges::max_element(counts), 1);
  static constexpr std::string_view kMarks[] = {
      "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
  std::string line = "over time     ";
  for (const std::int64_t count : counts) {
    line += kMarks[static_cast<std::size_t>(count * 7 / most)];
  }
  return line + "\n";
}

std::string reuse_lines(const Node& reuse) {
  if (node_at(reuse, "ideal").is_null()) {
    return "prefix reuse  prompts do not say what they hold\n";
  }
  const double ideal = number_at(reuse, "ideal");
  std::string text =
      fmt::format("prefix reuse  {} of {} blocks of {} tokens at best; {} different ones\n",
                  report::percent(ideal),
                  report::grouped(count(reuse, "blocks")),
                  count(reuse, "block_tokens"),
                  report::grouped(count(reuse, "working_set_blocks")));
  // A few sizes up to the one that holds nearly everything there is to find.
  constexpr double kNearlyAll = 0.98;
  constexpr std::size_t kMostShown = 6;
  const report::Rows sizes = report::rows_at(reuse, "by_cache_size");
  std::size_t last = 0;
  while (last + 1 < sizes.size() && number_at(*sizes[last], "hit_rate") < kNearlyAll * ideal) {
    ++last;
  }
  for (std::size_t i = last + 1 > kMostShown ? last + 1 - kMostShown : 0;
       i <= last && i < sizes.size();
       ++i) {
    text += fmt::format("  {:>14} tokens of cache find {}\n",
                        report::grouped(count(*sizes[i], "tokens")),
                        report::percent(number_at(*sizes[i], "hit_rate")));
  }
  return text;
}

std::string label_line(std::string_view title, const report::Rows& labels) {
  if (labels.empty()) {
    return {};
  }
  constexpr std::size_t kMostNamed = 4;
  std::string line = fmt::format("{:<14}", title);
  for (std::size_t i = 0; i < std::min(labels.size(), kMostNamed); ++i) {
    line += fmt::format(
        "{}{} {}",
        i == 0 ? "" : ", ",
        report::printable(report::shortened(report::text_at(*labels[i], "name"), 24, true), false),
        report::grouped(count(*labels[i], "requests")));
  }
  if (labels.size() > kMostNamed) {
    line += fmt::format(", and {} more", labels.size() - kMostNamed);
  }
  return line + "\n";
}

}  // namespace

std::string trace_table(const Node& trace, const report::TextStyle& style) {
  std::string text = fmt::format("{}: {} in {}\n",
                                 report::text_at(trace, "format"),
                                 report::counted(count(trace, "requests"), "request"),
                                 report::human_duration(number_at(trace, "duration_s")));
  text += fmt::format("rate          {} req/s, {} at its peak; burstiness {}\n",
                      number(trace, "request_rate", style),
                      number(trace, "peak_request_rate", style),
                      number(trace, "burstiness", style));
  text += spark_line(report::rows_at(trace, "rate_over_time"), style);
  text += spread_table(trace, style);
  text += fmt::format("correlation   {}\n", number(trace, "length_correlation", style));
  if (count(trace, "sessions") > 0) {
    text += fmt::format("sessions      {} of {} turns, {} sessions/s; waiting for an answer: {}\n",
                        report::grouped(count(trace, "sessions")),
                        number(trace, "turns_per_session", style),
                        number(trace, "session_rate", style),
                        report::counted(count(trace, "waiting_requests"), "request"));
  }
  text += reuse_lines(node_at(trace, "block_reuse"));
  text += label_line("models", report::rows_at(trace, "models"));
  text += label_line("tenants", report::rows_at(trace, "tenants"));
  text += label_line("SLO classes", report::rows_at(trace, "slo_classes"));
  return text + report::warning_lines(document::warnings_of(node_at(trace, "warnings")), style);
}

}  // namespace ridgeline::verbs
