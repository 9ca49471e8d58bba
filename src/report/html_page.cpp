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
#include "report/chart/figure.hpp"
#include "report/chart/page_style.hpp"
#include "report/chart/svg.hpp"
#include "report/page_script.hpp"

namespace ridgeline::report {
namespace {

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
