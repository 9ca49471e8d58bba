#include "report/html_page.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/node_json.hpp"
#include "document/node_path.hpp"
#include "report/figures/figure.hpp"
#include "report/page_script.hpp"
#include "report/svg.hpp"

namespace ridgeline::report {
namespace {

constexpr std::string_view kPageStyle = R"(
:root{color-scheme:light dark;--ink:#1f2328;--quiet:#59636e;--paper:#fff;--soft:#f6f8fa;--rule:#d8dee4;
--good:#116329;--bad:#a40e26}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e6edf3;--quiet:#9da7b1;--paper:#0d1117;--soft:#161b22;--rule:#30363d;
--good:#56d364;--bad:#ff8b82}}
html{font-size:clamp(14px,.4vw + 10px,24px)}
body{font:1rem/1.45 system-ui,'Segoe UI',Helvetica,Arial,sans-serif;color:var(--ink);background:var(--paper);
max-width:68em;margin:0 auto;padding:1em}
h1{font-size:1.2rem;margin:.2em 0}h1,p{overflow-wrap:anywhere}h2{font-size:1.05rem;margin:1.6em 0 .3em}
.finding{font-size:1.1rem;margin:.5em 0}
.verdict{list-style:none;padding:0;margin:.6em 0}.good{color:var(--good)}.bad{color:var(--bad)}
.verdict b{display:inline-block;min-width:5.5em}
.cards{display:flex;flex-wrap:wrap;gap:.6em;margin:.8em 0}
.card{border:1px solid var(--rule);border-radius:.4em;padding:.4em .8em;min-width:9em}
.card dt{color:var(--quiet)}.card dd{margin:0;font-size:1.15rem;font-weight:600}.card small{color:var(--quiet);font-weight:400;font-size:.85rem;display:block;max-width:16em}
.wide{overflow-x:auto}table{border-collapse:collapse;margin:.4em 0}
td,th{padding:.15em .8em;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}
th{font-weight:600;white-space:normal;max-width:18em}td:first-child,th:first-child{text-align:left}
.wide svg{width:100%;min-width:54em;height:auto;display:block}
@media screen and (max-width:54em){section>.wide:has(svg,th:nth-child(6)){border-right:2px dashed var(--rule)}
section>.wide:has(svg,th:nth-child(6))::before{content:'Wider than the screen: swipe it, or turn the phone.';position:sticky;left:0;color:var(--quiet)}}
.caption{color:var(--quiet);margin:.2em 0}summary{cursor:pointer;color:var(--quiet)}
.note{color:var(--quiet);min-height:1.5em;margin:.2em 0}
button{font:inherit;color:var(--ink);background:var(--soft);border:1px solid var(--rule);border-radius:.3em;padding:.2em .7em}
.best{font-weight:600}
pre{background:var(--soft);padding:.7em;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere}
@media print{:root{--ink:#000;--quiet:#444;--paper:#fff;--soft:#eee;--rule:#bbb;--good:#116329;--bad:#a40e26}
section{break-inside:avoid}summary,button,.note{display:none}
details::details-content{content-visibility:visible;display:block}}
)";

std::vector<std::string> escaped(const std::vector<std::string>& cells) {
  std::vector<std::string> all;
  for (const std::string& cell : cells) {
    all.push_back(xml_escaped(cell));
  }
  return all;
}

std::string json_opening(std::string_view id) {
  return fmt::format("<script type=\"application/json\" id=\"{}\">", id);
}
constexpr std::string_view kScriptEnd = "</script>";

}  // namespace

std::string page_opening(std::string_view title) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "script-src 'sha256-{}'; style-src 'unsafe-inline'; img-src data:\">\n"
      "<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n",
      kPageScriptHash,
      xml_escaped(title),
      kPageStyle,
      figures::figure_style(),
      xml_escaped(title));
}

std::string page_closing(std::string_view data) {
  return fmt::format(
      "</main>\n{}<script id=\"hover\">{}</script>\n</body>\n</html>\n", data, kPageScript);
}

std::string table_html(const std::vector<std::string>& head,
                       const std::vector<std::vector<std::string>>& rows) {
  std::string html = "<div class=\"wide\" tabindex=\"0\"><table>\n";
  if (!head.empty()) {
    html += fmt::format("<tr><th>{}</th></tr>\n", fmt::join(head, "</th><th>"));
  }
  for (const auto& row : rows) {
    html += fmt::format("<tr><td>{}</td></tr>\n", fmt::join(row, "</td><td>"));
  }
  return html + "</table></div>\n";
}

std::string figure_section(const figures::Figure& figure) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& row : figure.rows) {
    rows.push_back(escaped(row));
  }
  return fmt::format(
      "<section id=\"{}\">\n<h2>{}</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"{}\">\n{}</div>\n<p class=\"caption\">{}</p>\n<details><summary>As a table"
      "</summary>\n{}</details>\n</section>\n",
      figure.id,
      xml_escaped(figure.title),
      xml_escaped(figure.title),
      figures::inline_svg(figure),
      xml_escaped(figure.caption),
      table_html(escaped(figure.head), rows));
}

std::string json_element(std::string_view id, const document::Node& node) {
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  write(node, json);
  std::string html = json_opening(id);
  for (const char c : json.text()) {
    html += c == '<' ? std::string("\\u003c") : std::string(1, c);
  }
  return html.append(kScriptEnd).append("\n");
}

std::string_view json_of_element(std::string_view page, std::string_view id) {
  const std::string opening = json_opening(id);
  const std::size_t at = page.find(opening);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = page.substr(at + opening.size());
  return rest.substr(0, rest.find(kScriptEnd));
}

std::string text_at(const document::Node& tree, std::string_view path) {
  const document::Node* const node = at_path(tree, path);
  return node != nullptr && node->is_string() ? node->as_string() : std::string();
}

std::string upper(std::string_view word) {
  std::string text(word);
  for (char& c : text) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return text;
}

}  // namespace ridgeline::report
