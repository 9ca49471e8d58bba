#include "verbs/run/result_table.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/time_sum.hpp"
#include "document/document.hpp"
#include "domain/record.hpp"
#include "domain/step.hpp"
#include "metrics/power_summary.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/terminal_plot.hpp"
#include "report/text_lines.hpp"
#include "report/warning_lines.hpp"
#include "verbs/run/expected_error.hpp"
#include "verbs/run/fleet.hpp"
#include "verbs/run/group_table.hpp"
#include "verbs/run/result_tree.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {
namespace {

using metrics::Distribution;
using metrics::Metric;
using metrics::Statistic;

constexpr std::size_t kMinWidth = 48;
constexpr std::size_t kResultLabelWidth = 9;
constexpr std::size_t kUnitWidth = 3;
constexpr std::size_t kNumberWidth = 9;  ///< The least, with the gap before it.
constexpr std::size_t kNumberGap = 2;
constexpr std::string_view kColumnGap = "   ";
constexpr std::size_t kHistogramColumns = 20;

struct Row {
  std::string_view label;
  const std::optional<Distribution>* values;
  std::optional<Metric> metric;  ///< To find its verdicts; the queue has none.
  std::string_view series = {};  ///< Its name in the series; the gaps between tokens have none.
};

std::size_t asked_width(const report::TextStyle& style) {
  return static_cast<std::size_t>(std::max(style.width, 0));
}

std::string missing_mark(const report::TextStyle& style) {
  return style.ascii ? "-" : "\u2013";
}

/// The table of latencies, with the columns that fit.
class LatencyTable {
 public:
  LatencyTable(const RunResult& result, const report::TextStyle& style)
      : summary_(result.summary), style_(style) {
    const auto& client = summary_.client;
    rows_ = {{"TTFT", &client.of(Metric::kTtft), Metric::kTtft, "ttft"},
             {"TPOT", &client.of(Metric::kTpot), Metric::kTpot, "tpot"},
             {"ITL", &client.of(Metric::kItl), Metric::kItl},
             {"E2E", &client.of(Metric::kE2e), Metric::kE2e, "e2e"},
             {"queue", &summary_.queue_time_ms, std::nullopt, "queue_time"}};
    if (style.histograms && result.series) {
      const document::Node tree = result_tree(result);
      for (const Row& row : rows_) {
        const auto spread = row.series.empty()
                                ? std::nullopt
                                : report::latency_spread(tree, row.series, kHistogramColumns);
        histograms_.push_back(spread ? report::sparkline(spread->columns, style.ascii)
                                     : std::string());
      }
    }
    for (const Row& row : rows_) {
      targets_.push_back(target_cells(row));
      for (const auto& cell : targets_.back()) {
        target_width_ = std::max(target_width_, report::display_width(cell.target));
        verdict_width_ = std::max(verdict_width_, report::display_width(cell.verdict));
      }
    }
    drop_columns();
  }

  [[nodiscard]] std::string render() const {
    std::string text = header();
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      text += row_text(r);
    }
    return text;
  }

 private:
  struct TargetCell {
    std::string target;
    std::string verdict;
    std::string_view colour;
  };

  [[nodiscard]] report::TimeUnit unit_of(const Row& row) const {
    return report::time_unit(row.values->has_value() ? (*row.values)->of(Statistic::kMean) : 1.0);
  }

  [[nodiscard]] std::vector<TargetCell> target_cells(const Row& row) const {
    std::vector<TargetCell> cells;
    for (const auto& verdict : summary_.slo) {
      if (row.metric != verdict.metric) {
        continue;
      }
      TargetCell cell;
      cell.target =
          fmt::format("{} {} {}",
                      metrics::kStatisticNames[static_cast<std::size_t>(verdict.statistic)],
                      style_.ascii ? "<=" : "\u2264",
                      report::significant(verdict.limit_ms * unit_of(row).per_ms));
      if (!verdict.met.has_value()) {
        cell.verdict = "no data";
        cell.colour = style_.palette.warn;
      } else if (*verdict.met) {
        cell.verdict = "ok";
        cell.colour = style_.palette.good;
      } else {
        const bool value_meets = !verdict.value_ms || *verdict.value_ms <= verdict.limit_ms;
        cell.verdict = value_meets ? "missed: requests failed" : "missed";
        cell.colour = style_.palette.bad;
      }
      cells.push_back(std::move(cell));
    }
    return cells;
  }

  [[nodiscard]] std::size_t total_width() const {
    const std::size_t slo_width =
        target_width_ == 0 ? 0 : 2 * kColumnGap.size() + target_width_ + verdict_width_;
    return kResultLabelWidth + kUnitWidth + numbers_width() + histogram_width() + slo_width;
  }

  [[nodiscard]] std::string number_text(const Row& row, Statistic column) const {
    return row.values->has_value()
               ? report::significant((*row.values)->of(column) * unit_of(row).per_ms)
               : missing_mark(style_);
  }

  /// As wide as its widest number asks for: a row may hold seconds and days.
  [[nodiscard]] std::size_t number_width(Statistic column) const {
    std::size_t width = kNumberWidth;
    for (const Row& row : rows_) {
      width = std::max(width, kNumberGap + report::display_width(number_text(row, column)));
    }
    return width;
  }

  [[nodiscard]] std::size_t numbers_width() const {
    std::size_t sum = 0;
    for (const Statistic column : columns_) {
      sum += number_width(column);
    }
    return sum;
  }

  [[nodiscard]] std::size_t histogram_width() const {
    return histograms_.empty() ? 0 : kColumnGap.size() + kHistogramColumns;
  }

  void drop_columns() {
    if (target_width_ > 0) {
      target_width_ = std::max(target_width_, report::display_width("target"));
      verdict_width_ = std::max(verdict_width_, report::display_width("verdict"));
    }
    if (total_width() > asked_width(style_)) {
      histograms_.clear();
    }
    for (const Statistic least_needed :
         {Statistic::kP90, Statistic::kMean, Statistic::kP50, Statistic::kMax}) {
      if (total_width() > std::max(kMinWidth, asked_width(style_))) {
        std::erase(columns_, least_needed);
      }
    }
  }

  [[nodiscard]] std::string header() const {
    std::string line(kResultLabelWidth + kUnitWidth, ' ');
    for (const Statistic column : columns_) {
      line += report::pad_left(metrics::kStatisticNames[static_cast<std::size_t>(column)],
                               number_width(column));
    }
    if (!histograms_.empty()) {
      line.append(kColumnGap).append(report::pad_right("least to greatest", kHistogramColumns));
    }
    if (target_width_ > 0) {
      line.append(kColumnGap).append(report::pad_right("target", target_width_));
      line.append(kColumnGap).append("verdict");
    }
    return style_.palette.paint(style_.palette.dim, line) + "\n";
  }

  [[nodiscard]] std::string row_text(std::size_t index) const {
    const Row& row = rows_[index];
    const std::vector<TargetCell>& cells = targets_[index];
    const report::TimeUnit unit = unit_of(row);
    std::string line =
        report::pad_right(row.label, kResultLabelWidth) + report::pad_left(unit.name, kUnitWidth);
    for (const Statistic column : columns_) {
      line += report::pad_left(number_text(row, column), number_width(column));
    }
    if (!histograms_.empty()) {
      line.append(kColumnGap).append(report::pad_right(histograms_[index], kHistogramColumns));
    }
    const std::size_t blank = kResultLabelWidth + kUnitWidth + numbers_width() + histogram_width();
    for (std::size_t c = 0; c < cells.size(); ++c) {
      line.append(c == 0 ? "" : "\n" + std::string(blank, ' '));
      line.append(kColumnGap).append(report::pad_right(cells[c].target, target_width_));
      line.append(kColumnGap).append(style_.palette.paint(cells[c].colour, cells[c].verdict));
    }
    return line + "\n";
  }

  const metrics::Summary& summary_;
  const report::TextStyle& style_;
  std::vector<Row> rows_;
  std::vector<std::vector<TargetCell>> targets_;
  std::vector<Statistic> columns_ = {
      Statistic::kMean, Statistic::kP50, Statistic::kP90, Statistic::kP99, Statistic::kMax};
  std::vector<std::string> histograms_;  ///< One per row, or none at all.
  std::size_t target_width_ = 0;
  std::size_t verdict_width_ = 0;
};

std::string headline(const RunResult& result, const report::TextStyle& style) {
  std::vector<report::Piece> pieces;
  pieces.reserve(result.headline.size());
  for (const auto& part : result.headline) {
    pieces.push_back({.text = report::printable(part, style.ascii)});
  }
  std::string text =
      pieces.empty() ? "" : report::wrapped("", pieces, report::sentence_layout(style));
  if (result.partial) {
    text += style.palette.paint(style.palette.warn, "interrupted: the result is partial") + "\n";
  }
  return text;
}

std::string requests_line(const metrics::Summary& summary, const report::TextStyle& style) {
  constexpr std::array kFailures = {domain::Outcome::kRejected,
                                    domain::Outcome::kAborted,
                                    domain::Outcome::kUnfinished,
                                    domain::Outcome::kFailed,
                                    domain::Outcome::kNoSuchModel,
                                    domain::Outcome::kExpired};
  constexpr std::array<const char*, kFailures.size()> kNames = {"rejected",
                                                                "aborted",
                                                                "unfinished",
                                                                "failed",
                                                                "for a model that no pool serves",
                                                                "expired at the gateway"};
  std::vector<report::Piece> pieces = {{.text = report::grouped(summary.completed) + " completed"}};
  if (summary.warmup_requests) {
    pieces.push_back(
        {.text = report::grouped(*summary.warmup_requests) + " before, in the warm-up"});
  }
  if (const auto capped = summary.count(domain::Outcome::kLengthCapped); capped > 0) {
    pieces.push_back({.text = "of which " + report::grouped(capped) + " cut by max_model_len",
                      .colour = style.palette.warn});
  }
  for (std::size_t i = 0; i < kFailures.size(); ++i) {
    if (const auto count = summary.count(kFailures[i]); count > 0) {
      pieces.push_back(
          {.text = report::grouped(count) + " " + kNames[i], .colour = style.palette.bad});
    }
  }
  return report::labelled_line("requests", pieces, style);
}

/// Requests and tokens per second of a summary, or of a whole deployment.
template <class Rates>
std::vector<report::Piece> rate_pieces(const Rates& rates) {
  if (!rates.request_throughput || !rates.output_throughput || !rates.total_token_throughput) {
    return {};
  }
  return {{.text = report::significant(*rates.request_throughput) + " req/s"},
          {.text = report::significant(*rates.output_throughput) + " output tok/s"},
          {.text = report::significant(*rates.total_token_throughput) + " total tok/s"}};
}

std::string throughput_line(const metrics::Summary& summary, const report::TextStyle& style) {
  std::vector<report::Piece> pieces = rate_pieces(summary);
  if (pieces.empty()) {
    return report::labelled_line("throughput", {{.text = missing_mark(style)}}, style);
  }
  if (summary.goodput && summary.good_share) {
    pieces.push_back({.text = fmt::format("goodput {} req/s ({})",
                                          report::significant(*summary.goodput),
                                          report::percent(*summary.good_share))});
  }
  if (summary.overload) {
    const statistics::Backlog& backlog = summary.overload->backlog;
    const std::string when = backlog.whole_run ? ""
                                               : fmt::format(" from {} to {} s",
                                                             report::significant(backlog.begin_s),
                                                             report::significant(backlog.end_s));
    pieces.push_back(
        {.text = fmt::format("overloaded{}: {} {} of {} req/s",
                             when,
                             summary.overload->served_only ? "served at" : "sustains about",
                             report::significant(backlog.sustainable_rate),
                             report::significant(backlog.offered_rate)),
         .colour = style.palette.bad});
  }
  return report::labelled_line("throughput", pieces, style);
}

std::string deployment_line(const Deployment& deployment, const report::TextStyle& style) {
  const std::vector<report::Piece> pieces = rate_pieces(deployment);
  return report::labelled_line(
      fmt::format("{} ranks", deployment.data_parallel_size),
      pieces.empty() ? std::vector<report::Piece>{{.text = missing_mark(style)}} : pieces,
      style);
}

std::string kv_line(const metrics::Summary& summary, const report::TextStyle& style) {
  const auto share = [&](std::string_view label, const std::optional<double>& value) {
    return report::Piece{
        .text = fmt::format("{} {}", label, value ? report::percent(*value) : missing_mark(style))};
  };
  const std::vector<report::Piece> pieces = {
      share("peak", summary.kv_cache.peak),
      share("mean", summary.kv_cache.mean),
      share("prefix hits", summary.kv_cache.prefix_hit_rate),
      {.text = report::counted(summary.preemptions, "preemption"),
       .colour = summary.preemptions > 0 ? style.palette.warn : std::string_view()}};
  return report::labelled_line("KV cache", pieces, style);
}

/// "512 W per GPU", and what it is over.
std::vector<report::Piece> power_pieces(const metrics::PowerSummary& power,
                                        const report::TextStyle& style) {
  const std::string range =
      power.own_law
          ? std::string()
          : fmt::format(" ({:.0f}{}{:.0f})", power.low, style.ascii ? "-" : "\u2013", power.high);
  std::vector<report::Piece> pieces = {
      {.text = fmt::format("{:.0f} W per GPU{}", power.mean, range)}};
  if (power.joules_per_output_token) {
    pieces.push_back({.text = fmt::format("{} J per output token",
                                          report::significant(*power.joules_per_output_token))});
  }
  return pieces;
}

/// The kinds that took any time, the largest first.
std::string step_time_line(const metrics::Summary& summary, const report::TextStyle& style) {
  std::vector<std::pair<core::TimeSum, const char*>> kinds;
  for (std::size_t i = 0; i < domain::kNumBottlenecks; ++i) {
    if (summary.time_by_bottleneck[i] > core::Duration()) {
      kinds.emplace_back(summary.time_by_bottleneck[i], domain::kBottleneckNames[i]);
    }
  }
  std::stable_sort(
      kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<report::Piece> pieces;
  for (const auto& [time, name] : kinds) {
    const double share = time.to_seconds() / summary.busy.to_seconds();
    pieces.push_back({.text = fmt::format("{} {}", name, report::percent(share))});
  }
  pieces.push_back({.text = report::counted(summary.steps, "step")});
  return report::labelled_line("by roofline", pieces, style);
}

std::string cost_line(const RunResult& result, const report::TextStyle& style) {
  const auto& duration = result.summary.duration_s;
  std::string cost = fmt::format("simulated {} in {}",
                                 duration ? report::human_duration(*duration) : missing_mark(style),
                                 report::human_duration(result.run_info.wall_time_s));
  if (result.run_info.simulated_per_wall) {
    cost += fmt::format(" ({}{})",
                        report::significant(*result.run_info.simulated_per_wall),
                        style.ascii ? "x" : "\u00d7");
  }
  std::vector<report::Piece> pieces = {{.text = cost, .colour = style.palette.dim}};
  if (!result.digest.empty()) {
    pieces.push_back({.text = "digest " + report::printable(result.digest, style.ascii),
                      .colour = style.palette.dim});
  }
  if (!style.saved_to.empty()) {
    pieces.push_back({.text = (style.ascii ? "-> " : "\u2192 ") +
                              report::printable(style.saved_to, style.ascii)});
  }
  return report::wrapped("", pieces, report::sentence_layout(style));
}

}  // namespace

std::string result_table(const RunResult& result, const report::TextStyle& style) {
  std::string text = headline(result, style);
  text += text.empty() ? "" : "\n";
  text += LatencyTable(result, style).render();
  text += "\n";
  text += requests_line(result.summary, style);
  text += throughput_line(result.summary, style);
  if (result.deployment) {
    text += deployment_line(*result.deployment, style);
  }
  text += kv_line(result.summary, style);
  text += step_time_line(result.summary, style);
  if (result.summary.power) {
    text += report::labelled_line("power", power_pieces(*result.summary.power, style), style);
  }
  if (const auto pieces = expected_error_pieces(result.expected_errors, style); !pieces.empty()) {
    text += report::labelled_line("expected err", pieces, style);
  } else if (!result.bound.empty()) {
    text += report::labelled_line("expected err", {{.text = "none: " + result.bound}}, style);
  }
  text += fleet_table(result.summary, style);
  text += group_tables(result.summary, style);
  text += report::warning_lines(result.warnings, style);
  text += cost_line(result, style);
  return text;
}

}  // namespace ridgeline::verbs
