#include "report/html_report.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "document/basis.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/svg.hpp"
#include "report/finding.hpp"
#include "report/format.hpp"
#include "report/html_page.hpp"
#include "report/saved_result.hpp"
#include "report/table/table.hpp"

namespace ridgeline::report {
namespace {

using document::MapBuilder;

using document::Node;
using figures::number_at;

/// The statistics of a latency, by their keys.
constexpr std::array kStatistics = {"mean", "std", "p50", "p90", "p95", "p99", "max"};

bool has_number(const Node& tree, std::string_view key) {
  const Node* const node = at_path(tree, key);
  return node != nullptr && node->is_number();
}

/// A line per target, or that there is none.
std::string verdict_html(const Node& result) {
  const Node* const slo = at_path(result, "summary.slo");
  std::string lines;
  if (const Node* const partial = result.find("partial"); partial != nullptr) {
    lines += "<li class=\"bad\"><b>PARTIAL</b> the run was interrupted</li>\n";
  }
  if (slo == nullptr || slo->members().empty()) {
    return "<ul class=\"verdict\">" + lines + "<li>No target was set.</li></ul>\n";
  }
  for (const auto& member : slo->members()) {
    const std::string key = "summary.slo." + member.key;
    const Node* const met = member.value.find("met");
    const bool unknown = met == nullptr || met->is_null();
    const bool is_met = !unknown && met->as_bool();
    lines += fmt::format(
        "<li class=\"{}\"><b>{}</b> {} {} {} ms, target {} ms; {} of the requests within</li>\n",
        unknown  ? ""
        : is_met ? "good"
                 : "bad",
        unknown  ? "unknown"
        : is_met ? "MET"
                 : "MISSED",
        upper(member.key),
        xml_escaped(text_at(member.value, "statistic")),
        number_html(result, key + ".value_ms"),
        number_html(result, key + ".limit_ms"),
        number_html(result, key + ".share"));
  }
  return "<ul class=\"verdict\">\n" + lines + "</ul>\n";
}

/// Why a number has no error to expect (expected_errors_of in report/results/run.cpp).
std::string_view why_no_error(const Node& result, std::string_view metric) {
  if (result.find("bound") != nullptr) {
    return document::kBoundWords;
  }
  const bool has_others = has_number(result, "expected_error.tpot.groups");
  if (has_others && has_number(result, "summary.overload.offered_rate")) {
    return "the queue grows: it says how long the run is";
  }
  return has_others && metric == "output_throughput" ? "set by the rate of requests"
                                                     : "too few measured runs like this";
}

/// The mean that the error to expect is of, and that error, in words.
std::string error_html(const Node& result, std::string_view metric, std::string_view mean) {
  const std::string key = fmt::format("expected_error.{}", metric);
  if (!has_number(result, key + ".groups")) {
    return fmt::format("<small>{}</small>", why_no_error(result, metric));
  }
  return fmt::format("<small>{}off by {} to {} % in 90 % of such runs ({} deployments)</small>",
                     mean.empty() ? "" : fmt::format("mean {} ms, ", number_html(result, mean)),
                     number_html(result, key + ".p90_pct.low"),
                     number_html(result, key + ".p90_pct.high"),
                     number_html(result, key + ".groups"));
}

struct Card {
  std::string_view name;
  std::string_view key;
  std::string_view unit;
  std::string_view metric;     ///< In expected_error; empty: no error is kept for it.
  std::string_view mean = "";  ///< What that error is of, where it is another number.
};
constexpr std::array<Card, 8> kCards = {
    {{.name = "TTFT p99",
      .key = "summary.ttft_ms.p99",
      .unit = "ms",
      .metric = "ttft",
      .mean = "summary.ttft_ms.mean"},
     {.name = "TPOT p99",
      .key = "summary.tpot_ms.p99",
      .unit = "ms",
      .metric = "tpot",
      .mean = "summary.tpot_ms.mean"},
     {.name = "E2E p99",
      .key = "summary.e2e_ms.p99",
      .unit = "ms",
      .metric = "e2e",
      .mean = "summary.e2e_ms.mean"},
     {.name = "output",
      .key = "summary.output_throughput",
      .unit = "tok/s",
      .metric = "output_throughput"},
     {.name = "requests", .key = "summary.request_throughput", .unit = "req/s", .metric = ""},
     {.name = "goodput", .key = "summary.goodput", .unit = "req/s", .metric = ""},
     {.name = "KV peak", .key = "summary.kv_cache.peak", .unit = "", .metric = ""},
     {.name = "prefix hits", .key = "summary.kv_cache.prefix_hit_rate", .unit = "", .metric = ""}}};

std::string cards_html(const Node& result) {
  std::string cards;
  for (const Card& card : kCards) {
    if (has_number(result, card.key)) {
      cards += fmt::format("<dl class=\"card\"><dt>{}</dt><dd>{} {}{}</dd></dl>\n",
                           card.name,
                           number_html(result, card.key),
                           card.unit,
                           card.metric.empty() ? "" : error_html(result, card.metric, card.mean));
    }
  }
  return "<div class=\"cards\">\n" + cards + "</div>\n";
}

std::string warnings_html(const Node& result) {
  std::string items;
  const Node* const warnings = result.find("warnings");
  for (std::size_t i = 0; warnings != nullptr && i < warnings->items().size(); ++i) {
    const Node& warning = warnings->items()[i];
    const std::string hint = text_at(warning, "hint");
    items += fmt::format("<li>{}: {}{}</li>\n",
                         xml_escaped(text_at(warning, "code")),
                         xml_escaped(text_at(warning, "message")),
                         hint.empty() ? "" : " (" + xml_escaped(hint) + ")");
  }
  return items.empty() ? items : "<h2>Warnings</h2>\n<ul>\n" + items + "</ul>\n";
}

/// Every statistic of every latency, on both clocks.
std::string latency_table_html(const Node& result) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kRows = {
      {{"TTFT", "summary.ttft_ms"},
       {"TPOT", "summary.tpot_ms"},
       {"ITL", "summary.itl_ms"},
       {"E2E", "summary.e2e_ms"},
       {"queue", "summary.queue_time_ms"},
       {"TTFT, server", "summary.server.ttft_ms"},
       {"TPOT, server", "summary.server.tpot_ms"},
       {"E2E, server", "summary.server.e2e_ms"}}};
  std::string html = "<div class=\"wide\"><table>\n<tr><th>ms</th>";
  for (const char* const statistic : kStatistics) {
    html += fmt::format("<th>{}</th>", statistic);
  }
  html += "</tr>\n";
  for (const auto& [name, key] : kRows) {
    html += fmt::format("<tr><td>{}</td>", name);
    for (const char* const statistic : kStatistics) {
      html += fmt::format("<td>{}</td>", number_html(result, fmt::format("{}.{}", key, statistic)));
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string totals_html(const Node& result) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kRows = {
      {{"requests completed", "summary.completed"},
       {"cut by max_model_len", "summary.length_capped"},
       {"rejected", "summary.failed.rejected"},
       {"aborted", "summary.failed.aborted"},
       {"unfinished", "summary.failed.unfinished"},
       {"input tokens", "summary.total_input_tokens"},
       {"output tokens", "summary.total_output_tokens"},
       {"cached tokens", "summary.total_cached_tokens"},
       {"seconds", "summary.duration_s"},
       {"tokens per second", "summary.total_token_throughput"},
       {"preemptions", "summary.preemptions"},
       {"steps", "summary.steps"},
       {"seconds busy", "summary.busy_s"},
       {"KV in use, mean", "summary.kv_cache.mean"},
       {"requests within all targets", "summary.good_share"}}};
  std::string html = "<div class=\"wide\"><table>\n";
  for (const auto& [name, key] : kRows) {
    if (has_number(result, key)) {
      html += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", name, number_html(result, key));
    }
  }
  return html + "</table></div>\n";
}

std::string errors_html(const Node& result) {
  std::string html =
      "<p class=\"caption\">How far means of such predictions were off on measured servers, in "
      "percent of the measurement: above 0 where they were too high. Tails have no band of their "
      "own. Percentiles of a run are exact; they have no error of sampling.</p>\n";
  if (const std::string bound = text_at(result, "bound"); !bound.empty()) {
    return fmt::format("<p class=\"bad\">No error can be expected: the times are {}.</p>\n",
                       xml_escaped(bound));
  }
  const Node* const errors = result.find("expected_error");
  if (errors == nullptr || errors->members().empty()) {
    return html + "<p>No measured run is like this one.</p>\n";
  }
  html +=
      "<div class=\"wide\"><table>\n<tr><th></th><th colspan=\"2\">half within</th>"
      "<th colspan=\"2\">90 % within</th><th>deployments</th><th>of</th></tr>\n";
  for (const auto& member : errors->members()) {
    const std::string key = "expected_error." + member.key;
    html += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
        "<td>{} ({})</td></tr>\n",
        xml_escaped(member.key),
        number_html(result, key + ".p50_pct.low"),
        number_html(result, key + ".p50_pct.high"),
        number_html(result, key + ".p90_pct.low"),
        number_html(result, key + ".p90_pct.high"),
        number_html(result, key + ".groups"),
        xml_escaped(text_at(member.value, "slice")),
        member.value.find("fitted")->as_bool() ? "measured" : "unseen");
  }
  return html + "</table></div>\n";
}

std::string repeat_html(const Node& result, const PageWords& words) {
  std::string html = "<section id=\"repeat\">\n<h2>Repeat it</h2>\n<pre id=\"command\">" +
                     xml_escaped(words.command) + "</pre>\n";
  html += fmt::format(
      "<p>With Ridgeline {}. Digest {}: a fingerprint of the times of every request and of all "
      "steps; the command gives the same one, on any machine.</p>\n",
      xml_escaped(text_at(result, "run_info.version")),
      xml_escaped(text_at(result, "digest")));
  if (!words.stated.empty()) {
    html += "<details><summary>What was stated, and where</summary>\n<div class=\"wide\"><table>\n";
    for (const auto& [path, value] : words.stated) {
      html +=
          fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", xml_escaped(path), xml_escaped(value));
    }
    html += "</table></div></details>\n";
  }
  return html + "</section>\n";
}

std::string data_html(const Node& result) {
  MapBuilder map;
  const Node* info = nullptr;
  for (const auto& member : result.members()) {
    if (member.key == "run_info") {
      info = &member.value;
    } else {
      map.add(member.key, member.value);
    }
  }
  return json_element(kResultElement, map.build()) +
         (info != nullptr ? json_element(kRunInfoElement, *info) : std::string());
}

bool is_share(std::string_view key) {
  constexpr std::array<std::string_view, 5> kShares = {
      ".share", ".peak", ".mean", ".prefix_hit_rate", "_share"};
  for (const std::string_view share : kShares) {
    if (key.ends_with(share) &&
        (share != ".mean" || key.find("kv_cache") != std::string_view::npos)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string number_text(const Node* value, std::string_view key) {
  if (value == nullptr || !value->is_number()) {
    return "\u2013";
  }
  if (key.ends_with(".from_s") || key.ends_with(".to_s")) {
    return human_duration(value->as_real());
  }
  if (is_share(key)) {
    return percent(value->as_real());
  }
  // A saved 25.0 is read as 25: what is measured is no count.
  const bool is_measured =
      key.find("_ms") != std::string_view::npos || key.find("_pct") != std::string_view::npos;
  return value->kind() == Node::Kind::kInteger && !is_measured ? grouped(value->as_integer())
                                                               : significant(value->as_real());
}

std::string number_html(const Node& result, std::string_view key) {
  return fmt::format(
      "<span data-key=\"{}\">{}</span>", key, number_text(at_path(result, key), key));
}

std::string html_report(const Node& result, const PageWords& words) {
  std::string page = page_opening(words.headline);
  page += finding_html(result) + verdict_html(result) + cards_html(result) + warnings_html(result);
  for (const figures::Figure& figure : figures::all_figures(result)) {
    page += figure_section(figure);
  }
  page += "<section id=\"latencies\">\n<h2>Latencies</h2>\n" + latency_table_html(result) +
          "</section>\n<section id=\"totals\">\n<h2>Totals</h2>\n" + totals_html(result) +
          "</section>\n<section id=\"errors\">\n<h2>Error to expect</h2>\n" + errors_html(result) +
          "</section>\n";
  if (const figures::Figure bars = figures::error_bars(result); !bars.marks.empty()) {
    page += figure_section(bars);
  }
  return page + repeat_html(result, words) + page_closing(data_html(result));
}

PageWords words_of(const Node& result, std::string_view file) {
  PageWords words;
  for (const Node* piece : rows_at(result, "headline")) {
    words.headline += (words.headline.empty() ? "" : " \u00b7 ") + piece->as_string();
  }
  if (words.headline.empty()) {
    words.headline =
        fmt::format("{} on {}", text_at(result, "config.model"), text_at(result, "config.gpu"));
  }
  words.command = text_at(result, "command");
  if (words.command.empty() && !file.empty()) {
    words.command = fmt::format("ridgeline run {}", file);
  }
  for (const auto& [path, value, where] : members_at(result, "stated")) {
    words.stated.emplace_back(path, value.as_string());
  }
  return words;
}

}  // namespace ridgeline::report
