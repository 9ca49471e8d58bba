#include "verbs/run/run_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "report/format.hpp"
#include "report/html_page.hpp"
#include "report/palette.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"
#include "report/terminal_plot.hpp"
#include "verbs/run/expected_error.hpp"
#include "verbs/run/fleet_view.hpp"

namespace ridgeline::verbs {
namespace {

using document::MapBuilder;
using document::Node;
using report::grouped;
using report::percent;
using report::significant;
using report::text_at;
using report::Tone;
using report::figures::number_at;
using Words = std::vector<report::Sheet::Words>;

constexpr std::string_view kNone = "\u2013";
constexpr std::size_t kHistogramColumns = 20;

std::string number_or_none(const Node& tree, std::string_view path) {
  const Node* const value = at_path(tree, path);
  return value != nullptr && value->is_number() ? significant(value->as_real())
                                                : std::string(kNone);
}
std::string share_or_none(const Node& tree, std::string_view path) {
  const Node* const value = at_path(tree, path);
  return value != nullptr && value->is_number() ? percent(value->as_real()) : std::string(kNone);
}
std::int64_t count_at(const Node& tree, std::string_view path) {
  return std::llround(number_at(tree, path));
}

struct Latency {
  std::string_view name;
  std::string_view path;         ///< Its statistics in the summary.
  std::string_view metric = {};  ///< To find its verdict; the queue has none.
  std::string_view series = {};  ///< Its name in the series; gaps between tokens have none.
};
constexpr std::array<Latency, 5> kLatencies = {
    {{.name = "TTFT", .path = "ttft_ms", .metric = "ttft", .series = "ttft"},
     {.name = "TPOT", .path = "tpot_ms", .metric = "tpot", .series = "tpot"},
     {.name = "ITL", .path = "itl_ms", .metric = "itl"},
     {.name = "E2E", .path = "e2e_ms", .metric = "e2e", .series = "e2e"},
     {.name = "queue", .path = "queue_time_ms", .series = "queue_time"}}};

/// What became of a target, in the unit of its latency.
void add_verdict(const Node& verdict, const report::TimeUnit& unit, MapBuilder& row) {
  const Node& met = node_at(verdict, "met");
  const bool is_met = met.describe() == "true";
  const Node& value = node_at(verdict, "value_ms");
  const bool value_meets = !value.is_number() || value.as_real() <= number_at(verdict, "limit_ms");
  row.add("target",
          fmt::format(" {} \u2264 {}",
                      text_at(verdict, "statistic"),
                      significant(number_at(verdict, "limit_ms") * unit.per_ms)))
      .add("verdict",
           met.is_null() ? " no data"
           : is_met      ? " ok"
           : value_meets ? " missed: requests failed"
                         : " missed");
}

Tone tone_of(const Node& row) {
  const std::string verdict = text_at(row, "verdict");
  return verdict.empty()         ? Tone::kPlain
         : verdict == " ok"      ? Tone::kGood
         : verdict == " no data" ? Tone::kWarn
                                 : Tone::kBad;
}

/// The latencies, each in the unit in which it reads best. The least needed columns go first.
void add_latencies(const Node& result, const report::TextStyle& style, report::Sheet& sheet) {
  const Node& summary = node_at(result, "summary");
  report::TableView view{.columns = {{.title = "", .path = "name", .width = 7},
                                     {.title = "", .path = "unit", .right = true, .width = 3}}};
  for (const auto& [statistic, drop] : {std::pair("mean", 4),
                                        std::pair("p50", 3),
                                        std::pair("p90", 5),
                                        std::pair("p99", 0),
                                        std::pair("max", 2)}) {
    view.columns.push_back(
        {.title = statistic, .path = statistic, .right = true, .width = 7, .drop = drop});
  }
  const bool has_histograms = style.histograms && result.find("series") != nullptr;
  if (has_histograms) {
    view.columns.push_back({.title = " least to greatest",
                            .path = "histogram",
                            .on = report::Column::On::kTerminal,
                            .width = kHistogramColumns + 1,
                            .drop = 6});
  }
  const auto slo = members_at(summary, "slo");
  if (!slo.empty()) {
    view.columns.push_back({.title = " target", .path = "target"});
    view.columns.push_back({.title = " verdict", .path = "verdict", .tone = tone_of});
  }
  std::vector<Node> rows;
  for (const Latency& latency : kLatencies) {
    const Node& values = node_at(summary, latency.path);
    const report::TimeUnit unit = report::time_unit(number_at(values, "mean", 1.0));
    MapBuilder row;
    row.add("name", latency.name).add("unit", unit.name);
    for (const char* const statistic : {"mean", "p50", "p90", "p99", "max"}) {
      const Node& value = node_at(values, statistic);
      row.add(statistic,
              value.is_number() ? significant(value.as_real() * unit.per_ms) : std::string(kNone));
    }
    const auto spread = has_histograms && !latency.series.empty()
                            ? report::latency_spread(result, latency.series, kHistogramColumns)
                            : std::nullopt;
    row.add("histogram", spread ? " " + report::sparkline(spread->columns, style.ascii) : "");
    const auto verdict =
        std::ranges::find(slo, latency.metric, [](const auto& one) { return one.key; });
    if (verdict != slo.end()) {
      add_verdict(verdict->value, unit, row);
    } else {
      row.add("target", "").add("verdict", "");
    }
    rows.push_back(row);
  }
  sheet.table(std::move(view), std::move(rows));
}

void add_requests(const Node& summary, report::Sheet& sheet) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kFailures = {
      {{"rejected", "rejected"},
       {"aborted", "aborted"},
       {"unfinished", "unfinished"},
       {"failed", "failed"},
       {"no_such_model", "for a model that no pool serves"},
       {"expired", "expired at the gateway"}}};
  Words words = {{.text = grouped(count_at(summary, "completed")) + " completed"}};
  if (const Node* const before = summary.find("warmup_requests"); before != nullptr) {
    words.push_back({.text = grouped(before->as_integer()) + " before, in the warm-up"});
  }
  if (const auto capped = count_at(summary, "length_capped"); capped > 0) {
    words.push_back(
        {.text = "of which " + grouped(capped) + " cut by max_model_len", .tone = Tone::kWarn});
  }
  for (const auto& [key, name] : kFailures) {
    if (const auto count = count_at(node_at(summary, "failed"), key); count > 0) {
      words.push_back({.text = fmt::format("{} {}", grouped(count), name), .tone = Tone::kBad});
    }
  }
  sheet.line(std::move(words), "requests");
}

/// Requests and tokens per second of a summary, or of a whole deployment.
Words rates_of(const Node& rates) {
  for (const char* const key :
       {"request_throughput", "output_throughput", "total_token_throughput"}) {
    if (!node_at(rates, key).is_number()) {
      return {{.text = std::string(kNone)}};
    }
  }
  return {{.text = number_or_none(rates, "request_throughput") + " req/s"},
          {.text = number_or_none(rates, "output_throughput") + " output tok/s"},
          {.text = number_or_none(rates, "total_token_throughput") + " total tok/s"}};
}

void add_throughput(const Node& summary, report::Sheet& sheet) {
  Words words = rates_of(summary);
  if (words.size() > 1 && node_at(summary, "goodput").is_number() &&
      node_at(summary, "good_share").is_number()) {
    words.push_back({.text = fmt::format("goodput {} req/s ({})",
                                         number_or_none(summary, "goodput"),
                                         share_or_none(summary, "good_share"))});
  }
  if (const Node* const over = summary.find("overload"); over != nullptr && words.size() > 1) {
    const bool whole_run = node_at(*over, "whole_run").describe() == "true";
    const bool served_only = node_at(*over, "served_only").describe() == "true";
    words.push_back({.text = fmt::format("overloaded{}: {} {} of {} req/s",
                                         whole_run ? ""
                                                   : fmt::format(" from {} to {} s",
                                                                 number_or_none(*over, "begin_s"),
                                                                 number_or_none(*over, "end_s")),
                                         served_only ? "served at" : "sustains about",
                                         number_or_none(*over, "sustainable_rate"),
                                         number_or_none(*over, "offered_rate")),
                     .tone = Tone::kBad});
  }
  sheet.line(std::move(words), "throughput");
}

/// The kinds that took any time, the largest first.
void add_step_time(const Node& summary, report::Sheet& sheet) {
  std::vector<std::pair<double, std::string>> kinds;
  for (const auto& [name, seconds, where] : members_at(summary, "time_by_bottleneck")) {
    if (seconds.as_real() > 0.0) {
      kinds.emplace_back(seconds.as_real(), name);
    }
  }
  std::ranges::stable_sort(kinds, std::greater(), [](const auto& kind) { return kind.first; });
  std::vector<std::string> words;
  for (const auto& [seconds, name] : kinds) {
    words.push_back(fmt::format("{} {}", name, percent(seconds / number_at(summary, "busy_s"))));
  }
  words.push_back(report::counted(count_at(summary, "steps"), "step"));
  sheet.line(words, "by roofline");
}

void add_power(const Node& power, report::Sheet& sheet) {
  const std::string range =
      text_at(power, "law") == "measured"
          ? std::string()
          : fmt::format(" ({:.0f}\u2013{:.0f})", number_at(power, "low"), number_at(power, "high"));
  std::vector<std::string> words = {
      fmt::format("{:.0f} W per GPU{}", number_at(power, "watts_per_gpu"), range)};
  if (node_at(power, "joules_per_output_token").is_number()) {
    words.push_back(
        fmt::format("{} J per output token", number_or_none(power, "joules_per_output_token")));
  }
  sheet.line(words, "power");
}

std::string group_name(const Node& group) {
  return node_at(group, "value").is_null() ? "(none)" : text_at(group, "value");
}

/// The groups of one label. On a narrow terminal medians go first, then what of the latencies
/// stands last.
report::TableView group_view(const Node& summary, const std::string& label) {
  constexpr std::size_t kName = 15;
  constexpr std::size_t kCell = 7;
  constexpr std::size_t kMostRows = 8;  ///< The other formats have all.
  report::TableView view{
      .columns = {{.title = "by " + label, .cell = group_name, .width = kName, .most = kName},
                  {.title = "requests", .path = "requests", .format = report::Format::kCount}},
      .most_rows = kMostRows};
  int drop = 3;
  for (const char* const latency : {"ttft", "tpot", "e2e"}) {
    const report::TimeUnit unit = unit_of_run(summary, latency);
    for (const char* const statistic : {"p50", "p99"}) {
      const bool is_median = statistic == std::string_view("p50");
      view.columns.push_back({.title = statistic,
                              .path = fmt::format("{}_ms.{}", latency, statistic),
                              .format = report::Format::kSignificant,
                              .scale = unit.per_ms,
                              .above = fmt::format("{} {}", report::upper(latency), unit.name),
                              .drop = is_median ? 3 + drop : 4 - drop});
    }
    --drop;
  }
  if (summary.find("slo") != nullptr) {
    view.columns.push_back(
        {.title = "good", .path = "good_share", .format = report::Format::kShare});
  }
  for (std::size_t c = 1; c < view.columns.size(); ++c) {
    view.columns[c].width = kCell;
  }
  return view;
}

void add_cost(const Node& result, const report::TextStyle& style, report::Sheet& sheet) {
  const Node& duration = node_at(result, "summary.duration_s");
  std::string cost = fmt::format(
      "simulated {} in {}",
      duration.is_number() ? report::human_duration(duration.as_real()) : std::string(kNone),
      report::human_duration(number_at(result, "run_info.wall_time_s")));
  if (node_at(result, "run_info.simulated_per_wall").is_number()) {
    cost += fmt::format(" ({}\u00d7)", number_or_none(result, "run_info.simulated_per_wall"));
  }
  Words words = {{.text = std::move(cost), .tone = Tone::kDim}};
  if (const std::string digest = text_at(result, "digest"); !digest.empty()) {
    words.push_back({.text = "digest " + digest, .tone = Tone::kDim});
  }
  if (!style.saved_to.empty()) {
    words.push_back({.text = "\u2192 " + style.saved_to});
  }
  sheet.line(std::move(words));
}

/// The warnings but for those of absent numbers, which a table shows as dashes.
core::Warnings shown_warnings(const Node& result) {
  core::Warnings warnings = document::warnings_of(node_at(result, "warnings"));
  std::erase_if(warnings, [](const core::Warning& one) { return one.code == "W-no-number"; });
  return warnings;
}

}  // namespace

void add_groups(const Node& summary, report::Sheet& sheet) {
  const auto labels = members_at(summary, "groups");
  for (const auto& [label, groups, where] : labels) {
    sheet.gap().table(group_view(summary, label), groups.items());
  }
  if (!labels.empty()) {
    sheet.gap();
  }
}

std::string run_text(const Node& result, report::Face face, const report::TextStyle& asked) {
  constexpr int kNarrowestTable = 48;
  report::TextStyle style = asked;
  style.width = std::max(style.width, kNarrowestTable);
  const Node& summary = node_at(result, "summary");
  report::Sheet sheet("Run");
  std::vector<std::string> headline;
  for (const Node* piece : report::rows_at(result, "headline")) {
    headline.push_back(report::cell_text(piece, report::Format::kText));
  }
  const bool is_partial = result.find("partial") != nullptr;
  sheet.line(headline);
  if (is_partial) {
    sheet.line(Words{{.text = "interrupted: the result is partial", .tone = Tone::kWarn}});
  }
  if (is_partial || !headline.empty()) {
    sheet.gap();
  }
  add_latencies(result, style, sheet);
  sheet.gap();
  add_requests(summary, sheet);
  add_throughput(summary, sheet);
  if (const Node* const deployment = result.find("deployment"); deployment != nullptr) {
    sheet.line(rates_of(*deployment),
               fmt::format("{} ranks", count_at(*deployment, "data_parallel_size")));
  }
  const std::int64_t preemptions = count_at(summary, "preemptions");
  sheet.line(Words{{.text = "peak " + share_or_none(summary, "kv_cache.peak")},
                   {.text = "mean " + share_or_none(summary, "kv_cache.mean")},
                   {.text = "prefix hits " + share_or_none(summary, "kv_cache.prefix_hit_rate")},
                   {.text = report::counted(preemptions, "preemption"),
                    .tone = preemptions > 0 ? Tone::kWarn : Tone::kPlain}},
             "KV cache");
  add_step_time(summary, sheet);
  if (const Node* const power = summary.find("power"); power != nullptr) {
    add_power(*power, sheet);
  }
  if (const auto words = expected_error_words(node_at(result, "expected_error")); !words.empty()) {
    sheet.line(words, "expected err");
  } else if (const std::string bound = text_at(result, "bound"); !bound.empty()) {
    sheet.line(std::vector<std::string>{"none: " + bound}, "expected err");
  }
  add_fleet(summary, sheet);
  add_groups(summary, sheet);
  sheet.warnings(shown_warnings(result));
  add_cost(result, style, sheet);
  return sheet.render(face, style);
}

}  // namespace ridgeline::verbs
