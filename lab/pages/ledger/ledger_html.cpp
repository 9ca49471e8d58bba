#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "document/document.hpp"
#include "lab/pages/ledger/ledger_chart.hpp"
#include "lab/pages/ledger/ledger_report.hpp"
#include "lab/studies/ledger/ledger.hpp"
#include "lab/studies/ledger/settle.hpp"
#include "report/chart/svg.hpp"

namespace ridgeline::report {
namespace {

using document::Node;
using studies::SettledClaim;
using studies::Settlement;

// Nothing is asked of the network. Letters grow with the screen; on a narrow one a claim is a card.
constexpr std::string_view kStyle =
    ":root{color-scheme:light dark;--ink:#1c2128;--dim:#59636e;--paper:#fff;--line:#d5dae0;"
    "--soft:#f4f6f8;--a:#0b62c4;--b:#b3541e;--good:#1a7f37;--note:#8250df;--bad:#c2262d}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e3e8ee;--dim:#9aa5b1;--paper:#12161b;"
    "--line:#343c46;--soft:#1b2128;--a:#6cb2ff;--b:#f0a070;--good:#56c271;--note:#c19bff;"
    "--bad:#ff7b72}}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;padding:1em;max-width:110rem;color:var(--ink);background:var(--paper);"
    "font:clamp(15px,.45vw + 11px,26px)/1.45 system-ui,sans-serif;overflow-wrap:anywhere}"
    "html{font-size:clamp(15px,.45vw + 11px,26px)}"
    "h1{font-size:1.5em}h2{font-size:1.2em;margin-top:2em}p{max-width:60em}a{color:var(--a)}"
    ".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));"
    "gap:1em}"
    "svg{width:100%;background:var(--soft);border-radius:6px}"
    "svg text{font:10.5px system-ui,sans-serif;fill:var(--dim)}"
    "svg .title{font-weight:600;fill:var(--ink);font-size:11px}.rule{stroke:var(--line)}"
    "path{fill:none;stroke-width:1.6}circle{fill:var(--soft);stroke-width:1.6}"
    ".s0{stroke:var(--a)}.s1{stroke:var(--b)}.s2{stroke:var(--note)}.s3{stroke:var(--good)}"
    "table{border-collapse:collapse;width:100%}"
    "td,th{padding:.35em .6em;text-align:left;vertical-align:top;"
    "border-bottom:1px solid var(--line)}th{color:var(--dim);font-weight:600}"
    ".claims{table-layout:fixed}.claims th:nth-child(1){width:5.5em}"
    ".claims th:nth-child(2){width:31%}.claims th:nth-child(3){width:18%}"
    ".claims td:first-child{white-space:nowrap;color:var(--dim)}"
    "code{font-size:.85em;color:var(--dim)}.why{color:var(--dim)}"
    ".st{font-weight:600;color:var(--good)}.corrected,.refuted{color:var(--note)}"
    ".open,.unexpected{color:var(--bad)}.skipped,.not{color:var(--dim)}"
    "details{overflow-x:auto}summary{cursor:pointer;color:var(--a)}"
    "details td,details th{text-align:right;white-space:nowrap;padding:.15em .6em}"
    "del{color:var(--bad)}"
    "@media(max-width:48rem){.claims,.claims tbody,.claims tr,.claims td{display:block;"
    "border:0;padding:.1em 0}.claims thead{display:none}"
    ".claims tr{border:1px solid var(--line);border-radius:6px;padding:.6em;margin:.6em 0}"
    ".claims td[data-l]::before{content:attr(data-l) ' ';color:var(--dim);font-size:.85em}"
    ".claims details td{display:table-cell;padding:.15em .5em}"
    ".claims details tr{display:table-row}.claims details tbody{display:table-row-group}"
    ".claims details table{display:table}}";

/// Escaped, with what stands between backticks as code.
std::string prose(std::string_view text) {
  std::string html;
  bool code = false;
  for (const char c : xml_escaped(text)) {
    if (c == '`') {
      html += code ? "</code>" : "<code>";
      code = !code;
    } else {
      html += c;
    }
  }
  return html;
}

/// A class of the style for a status: its first word.
std::string status_class(const SettledClaim& found) {
  const std::string_view status = studies::name(found.status);
  return fmt::format(
      "st {}{}", status.substr(0, status.find(' ')), found.is_expected() ? "" : " unexpected");
}

std::string cell_html(const Node& theirs, const Node* ours, std::int64_t decimals) {
  const auto text = [&](const Node& node) {
    if (node.is_number()) {
      return studies::printed(node.as_real(), {.decimals = decimals});
    }
    return node.is_string() ? node.as_string() : node.is_null() ? std::string() : node.describe();
  };
  if (theirs.is_list()) {
    std::string all;
    for (std::size_t i = 0; i < theirs.items().size(); ++i) {
      const bool there = ours != nullptr && ours->is_list() && i < ours->items().size();
      all += (i == 0 ? "" : " ") +
             cell_html(theirs.items()[i], there ? &ours->items()[i] : nullptr, decimals);
    }
    return all;
  }
  const std::string said = text(theirs);
  if (ours == nullptr || text(*ours) == said || theirs.is_null()) {
    return xml_escaped(said);
  }
  return fmt::format("<del>{}</del> {}", xml_escaped(said), xml_escaped(text(*ours)));
}

/// The printed table; where a cell of ours is another one, both.
std::string printed_table(const SettledClaim& found) {
  const studies::PrintedTable& table = *found.claim->table;
  std::string html = "<details><summary>the table</summary><table><thead><tr>";
  for (const std::string& column : table.columns) {
    html += fmt::format("<th>{}</th>", xml_escaped(column));
  }
  html += "</tr></thead><tbody>";
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    html += "<tr>";
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      const Node* ours = i < found.rows.size() ? &found.rows[i].items()[column] : nullptr;
      html += fmt::format("<td>{}</td>",
                          cell_html(table.rows[i].items()[column], ours, table.decimals[column]));
    }
    html += "</tr>";
  }
  return html + "</tbody></table></details>";
}

std::string claim_html(const SettledClaim& found) {
  const studies::Claim& claim = *found.claim;
  const std::string why = remark(found);
  const std::string command = typed_command(claim);
  return fmt::format(
      "<tr id=\"{0}\"><td>{0}</td><td data-l=\"published\">{1}{2}</td>"
      "<td data-l=\"computed\">{3}</td><td data-l=\"status\"><span class=\"{4}\">{5}</span>{6}</td>"
      "<td>{7}</td></tr>\n",
      xml_escaped(claim.id),
      prose(claim.said),
      claim.table ? printed_table(found) : "",
      claim.answer.empty() || found.computed.empty()
          ? xml_escaped(found.computed)
          : fmt::format("{}<br>{}", xml_escaped(found.computed), prose(claim.answer)),
      status_class(found),
      studies::name(found.status),
      why.empty() ? "" : fmt::format("<br><span class=\"why\">{}</span>", prose(why)),
      command.empty() ? "" : fmt::format("<code>{}</code>", xml_escaped(command)));
}

std::string document_html(const Settlement& settled, const studies::LedgerDocument& document) {
  std::string rows;
  std::string charts;
  for (const auto& row : settled.rows) {
    if (row.row->document != document.id) {
      continue;
    }
    for (const SettledClaim& claim : row.claims) {
      rows += claim_html(claim);
      charts += ledger_chart(claim);
    }
  }
  if (rows.empty()) {
    return {};
  }
  return fmt::format(
      "<h2>{}</h2>\n{}{}<table class=\"claims\"><thead><tr><th>id</th><th>published</th>"
      "<th>computed</th><th>status</th><th>command</th></tr></thead>\n<tbody>{}</tbody></table>\n",
      xml_escaped(document.title),
      document.about.empty() ? "" : fmt::format("<p>{}</p>\n", prose(document.about)),
      charts.empty() ? ""
                     : fmt::format("<p class=\"why\">Rings are published or, in a follow-up, "
                                   "stated; lines are computed.</p>\n"
                                   "<div class=\"charts\">\n{}</div>\n",
                                   charts),
      rows);
}

}  // namespace

std::string ledger_html(const Settlement& settled) {
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\"><title>{}</title>\n<style>{}</style></head><body>\n<h1>{}</h1>\n"
      "<p>{}</p>\n<p>{}</p>\n",
      xml_escaped(settled.ledger->title),
      kStyle,
      xml_escaped(settled.ledger->title),
      prose(settled.ledger->about),
      xml_escaped(ledger_summary(settled)));
  page += "<ul>\n";
  for (const auto& [title, claims] : ledger_overview(settled)) {
    page += fmt::format("<li><b>{}</b>: {}</li>\n", xml_escaped(title), prose(claims));
  }
  page += "</ul>\n";
  for (const studies::LedgerDocument& document : settled.ledger->documents) {
    page += document_html(settled, document);
  }
  return page + "</body></html>\n";
}

}  // namespace ridgeline::report
