#include "report/html_report.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/node_json.hpp"
#include "metrics/slo.hpp"
#include "report/figures/figure.hpp"
#include "report/format.hpp"
#include "report/result_tree.hpp"
#include "report/run_result.hpp"
#include "report/svg.hpp"
#include "report/tree.hpp"

namespace ridgeline::report {
namespace {

using document::Node;
using figures::at_path;
using figures::number_at;

constexpr std::string_view kResultElement = "<script type=\"application/json\" id=\"result\">";
constexpr std::string_view kRunInfoElement = "<script type=\"application/json\" id=\"run-info\">";
constexpr std::string_view kScriptEnd = "</script>";

// No address is asked for anything: the policy forbids it, and there is nothing to ask for.
constexpr std::string_view kReportHead =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "style-src 'unsafe-inline'; img-src data:\">\n";

constexpr std::string_view kReportStyle = R"(
:root{color-scheme:light dark;--ink:#1f2328;--quiet:#59636e;--paper:#fff;--soft:#f6f8fa;--rule:#d8dee4;
--good:#116329;--bad:#a40e26}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--quiet:#9da7b1;--paper:#0d1117;--soft:#161b22;--rule:#30363d;
--good:#56d364;--bad:#ff8b82}}
html{font-size:clamp(14px,.4vw + 10px,24px)}
body{font:1rem/1.45 system-ui,'Segoe UI',Helvetica,Arial,sans-serif;color:var(--ink);background:var(--paper);
max-width:68em;margin:0 auto;padding:1em}
h1{font-size:1.2rem;margin:.2em 0}h2{font-size:1.05rem;margin:1.6em 0 .3em}
.verdict{list-style:none;padding:0;margin:.6em 0}.good{color:var(--good)}.bad{color:var(--bad)}
.verdict b{display:inline-block;min-width:5.5em}
.cards{display:flex;flex-wrap:wrap;gap:.6em;margin:.8em 0}
.card{border:1px solid var(--rule);border-radius:.4em;padding:.4em .8em;min-width:9em}
.card dt{color:var(--quiet)}.card dd{margin:0;font-size:1.15rem;font-weight:600}.card small{color:var(--quiet);font-weight:400;font-size:.85rem;display:block}
.wide{overflow-x:auto}table{border-collapse:collapse;margin:.4em 0}
td,th{padding:.15em .8em;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}
th{font-weight:600}td:first-child,th:first-child{text-align:left}
.wide svg{width:100%;min-width:54em;height:auto;display:block}
.caption{color:var(--quiet);margin:.2em 0}summary{cursor:pointer;color:var(--quiet)}
pre{background:var(--soft);padding:.7em;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere}
@media print{:root{--ink:#000;--quiet:#444;--paper:#fff;--soft:#eee;--rule:#bbb;--good:#116329;--bad:#a40e26}
section{break-inside:avoid}}
)";

/// An element with a number of the result.
std::string number_html(const Node& result, std::string_view key) {
  return fmt::format(
      "<span data-key=\"{}\">{}</span>", key, number_text(at_path(result, key), key));
}

std::string text_at(const Node& tree, std::string_view key) {
  const Node* const node = at_path(tree, key);
  return node != nullptr && node->is_string() ? node->as_string() : std::string();
}

bool has_number(const Node& tree, std::string_view key) {
  const Node* const node = at_path(tree, key);
  return node != nullptr && node->is_number();
}

std::string upper(std::string_view word) {
  std::string text(word);
  for (char& c : text) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return text;
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

/// The error to expect of a mean, in words; empty where nothing measured is like the run.
std::string error_html(const Node& result, std::string_view metric) {
  const std::string key = fmt::format("expected_error.{}.median_pct", metric);
  return has_number(result, key)
             ? fmt::format("<small>means off by {} % (median)</small>", number_html(result, key))
             : "<small>no measured run like this</small>";
}

struct Card {
  std::string_view name;
  std::string_view key;
  std::string_view unit;
  std::string_view metric;  ///< Of expected_error; empty: none is kept of it.
};
constexpr std::array<Card, 8> kCards = {
    {{.name = "TTFT p99", .key = "summary.ttft_ms.p99", .unit = "ms", .metric = "ttft"},
     {.name = "TPOT p99", .key = "summary.tpot_ms.p99", .unit = "ms", .metric = "tpot"},
     {.name = "E2E p99", .key = "summary.e2e_ms.p99", .unit = "ms", .metric = "e2e"},
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
                           card.metric.empty() ? "" : error_html(result, card.metric));
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
  for (const char* const statistic : metrics::kStatisticNames) {
    html += fmt::format("<th>{}</th>", statistic);
  }
  html += "</tr>\n";
  for (const auto& [name, key] : kRows) {
    html += fmt::format("<tr><td>{}</td>", name);
    for (const char* const statistic : metrics::kStatisticNames) {
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
      "percent of the measurement. Percentiles of a run are exact; they have no error of "
      "sampling.</p>\n";
  const Node* const errors = result.find("expected_error");
  if (errors == nullptr || errors->members().empty()) {
    return html + "<p>No measured run is like this one.</p>\n";
  }
  html +=
      "<div class=\"wide\"><table>\n<tr><th></th><th>median</th><th>mean</th><th>p90</th>"
      "<th>records</th><th>of</th></tr>\n";
  for (const auto& member : errors->members()) {
    const std::string key = "expected_error." + member.key;
    html +=
        fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                    xml_escaped(member.key),
                    number_html(result, key + ".median_pct"),
                    number_html(result, key + ".mean_pct"),
                    number_html(result, key + ".p90_pct"),
                    number_html(result, key + ".records"),
                    xml_escaped(text_at(member.value, "slice")));
  }
  return html + "</table></div>\n";
}

std::string figure_html(const figures::Figure& figure) {
  std::string html = fmt::format(
      "<section id=\"{}\">\n<h2>{}</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"{}\">\n{}</div>\n<p class=\"caption\">{}</p>\n<details><summary>As a table"
      "</summary>\n<div class=\"wide\"><table>\n<tr>",
      figure.id,
      xml_escaped(figure.title),
      xml_escaped(figure.title),
      figures::inline_svg(figure),
      xml_escaped(figure.caption));
  for (const std::string& cell : figure.head) {
    html += fmt::format("<th>{}</th>", xml_escaped(cell));
  }
  html += "</tr>\n";
  for (const auto& row : figure.rows) {
    html += "<tr>";
    for (const std::string& cell : row) {
      html += fmt::format("<td>{}</td>", xml_escaped(cell));
    }
    html += "</tr>\n";
  }
  return html + "</table></div></details>\n</section>\n";
}

std::string repeat_html(const Node& result, const PageWords& words) {
  std::string html = "<section id=\"repeat\">\n<h2>Repeat it</h2>\n<pre>" +
                     xml_escaped(words.command) + "</pre>\n";
  html += fmt::format("<p>Digest {}</p>\n", xml_escaped(text_at(result, "digest")));
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

/// JSON inside an element: no text of it can end the element.
std::string embedded(const Node& node) {
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  write(node, json);
  std::string text;
  for (const char c : json.text()) {
    text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  }
  return text;
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
  std::string html;
  html.append(kResultElement).append(embedded(map.build())).append(kScriptEnd).append("\n");
  if (info != nullptr) {
    html.append(kRunInfoElement).append(embedded(*info)).append(kScriptEnd).append("\n");
  }
  return html;
}

/// The content of an element of a page; nothing where there is none.
std::string_view content_of(std::string_view page, std::string_view element) {
  const std::size_t at = page.find(element);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = page.substr(at + element.size());
  return rest.substr(0, rest.find(kScriptEnd));
}

bool is_share(std::string_view key) {
  constexpr std::array<std::string_view, 5> kShares = {
      ".share", ".peak", ".mean", ".prefix_hit_rate", ".good_share"};
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
  if (is_share(key)) {
    return percent(value->as_real());
  }
  return value->kind() == Node::Kind::kInteger ? grouped(value->as_integer())
                                               : significant(value->as_real());
}

std::string html_report(const Node& result, const PageWords& words) {
  std::string page(kReportHead);
  page +=
      fmt::format("<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n",
                  xml_escaped(words.headline),
                  kReportStyle,
                  figures::figure_style(),
                  xml_escaped(words.headline));
  page += verdict_html(result) + cards_html(result) + warnings_html(result);
  for (const figures::Figure& figure : figures::all_figures(result)) {
    page += figure_html(figure);
  }
  page += "<section id=\"latencies\">\n<h2>Latencies</h2>\n" + latency_table_html(result) +
          "</section>\n<section id=\"totals\">\n<h2>Totals</h2>\n" + totals_html(result) +
          "</section>\n<section id=\"errors\">\n<h2>Error to expect</h2>\n" + errors_html(result) +
          "</section>\n";
  page += repeat_html(result, words) + "</main>\n" + data_html(result);
  return page + "</body>\n</html>\n";
}

std::string html_report(const RunResult& result) {
  return html_report(result_tree(result),
                     {.headline = fmt::format("{}", fmt::join(result.headline, " \u00b7 ")),
                      .command = result.command,
                      .stated = result.stated});
}

PageWords words_of(const Node& result, std::string_view file) {
  PageWords words;
  words.headline =
      fmt::format("{} on {}", text_at(result, "config.model"), text_at(result, "config.gpu"));
  words.command = fmt::format("ridgeline run {}", file);
  return words;
}

core::Result<Node> result_in_page(std::string_view page, const std::string& file) {
  const std::string_view text = content_of(page, kResultElement);
  if (text.empty()) {
    return core::fail(core::Error{.field = "report",
                                  .message = "found a page without a result, expected one that "
                                             "`ridgeline run -o FILE.html` wrote",
                                  .where = {.file = file}});
  }
  auto result = document::parse_json(text, file);
  if (!result || !result->is_map()) {
    return result;
  }
  const std::string_view info_text = content_of(page, kRunInfoElement);
  if (info_text.empty()) {
    return result;
  }
  auto info = document::parse_json(info_text, file);
  if (!info) {
    return info;
  }
  MapBuilder map;
  for (const auto& member : result->members()) {
    map.add(member.key, member.value);
    if (member.key == "schema_version") {
      map.add("run_info", *info);
    }
  }
  return map.build();
}

core::Result<Node> checked_result(Node tree, const std::string& file) {
  if (tree.find("summary") == nullptr || tree.find("config") == nullptr) {
    return core::fail(core::Error{.message = "no result of `ridgeline run`: it has no summary and "
                                             "config",
                                  .where = {.file = file}});
  }
  return tree;
}

core::Result<Node> read_result(const std::string& path) {
  const auto text = document::read_file(path);
  if (!text) {
    return core::fail(text.error());
  }
  auto result = text->starts_with("<!doctype html>") ? result_in_page(*text, path)
                                                     : document::parse_json(*text, path);
  return result ? checked_result(std::move(*result), path) : result;
}

}  // namespace ridgeline::report
