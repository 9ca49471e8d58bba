#include "report/table/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text.hpp"
#include "document/document.hpp"
#include "document/node_path.hpp"
#include "report/chart/svg.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/table/grid.hpp"

namespace ridgeline::report {
namespace {

using document::Node;

std::string number_text(double value, Format format) {
  switch (format) {
    case Format::kText:
      return core::shortest(value);
    case Format::kCount:
      return grouped(std::llround(value));
    case Format::kSignificant:
      return significant(value);
    case Format::kFixed0:
      return fmt::format("{:.0f}", value);
    case Format::kFixed1:
      return fmt::format("{:.1f}", value);
    case Format::kFixed2:
      return fmt::format("{:.2f}", value);
    case Format::kSigned1:
      return fmt::format("{:+.1f}", value);
    case Format::kSigned2:
      return fmt::format("{:+.2f}", value);
    case Format::kShare:
      return percent(value);
  }
  return {};
}

/// What a column says of a row.
std::string cell_of(const Column& column,
                    const Node& row,
                    const TableView& view,
                    Face face,
                    const TextStyle& style) {
  if (column.cell) {
    return column.cell(row);
  }
  const Node* const value = at_path(row, column.path);
  if (value != nullptr && !value->is_null()) {
    return face == Face::kCsv ? cell_text(value, Format::kText)
                              : cell_text(value, column.format, column.scale);
  }
  return face == Face::kCsv                       ? std::string()
         : face == Face::kTerminal && style.ascii ? "-"
                                                  : std::string(view.missing);
}

std::vector<Column> shown(const TableView& view, Face face) {
  std::vector<Column> columns = view.columns;
  const bool terminal = face == Face::kTerminal;
  std::erase_if(columns, [&](const Column& column) {
    return column.on == (terminal ? Column::On::kPages : Column::On::kTerminal);
  });
  for (Column& column : columns) {
    column.title = terminal && !column.terminal.empty()         ? column.terminal
                   : face == Face::kCsv && !column.path.empty() ? column.path
                                                                : column.title;
  }
  return columns;
}

/// A cell in the face's own spelling, so that nothing in it is markup.
std::string spelt(const std::string& text,
                  const Column& column,
                  Face face,
                  const TextStyle& style) {
  switch (face) {
    case Face::kTerminal: {
      std::string safe = printable(text, style.ascii);
      return column.most > 0 ? shortened(safe, column.most, style.ascii) : safe;
    }
    case Face::kMarkdown:
      return markdown_cell(printable(text, false));
    case Face::kHtml:
      return xml_escaped(text);
    case Face::kCsv:
      return core::csv_cell(text);
  }
  return text;
}

std::string joined(const std::vector<std::string>& cells,
                   std::string_view before,
                   std::string_view between,
                   std::string_view after) {
  return fmt::format("{}{}{}\n", before, fmt::join(cells, between), after);
}

std::vector<std::string> cells_of(const TableView& view,
                                  const std::vector<Column>& columns,
                                  const Node& row,
                                  Face face,
                                  const TextStyle& style) {
  std::vector<std::string> cells;
  for (const Column& column : columns) {
    cells.push_back(spelt(cell_of(column, row, view, face, style), column, face, style));
  }
  return cells;
}

/// With the columns that the terminal has room for.
std::string terminal_table(const TableView& view,
                           std::vector<Column> columns,
                           const Rows& rows,
                           const TextStyle& style) {
  const std::size_t shown_rows =
      view.most_rows == 0 ? rows.size() : std::min(rows.size(), view.most_rows);
  while (true) {
    std::vector<Grid::Column> widths;
    for (const Column& column : columns) {
      widths.push_back({.title = column.title,
                        .left = column.format == Format::kText && !column.right,
                        .width = column.width,
                        .above = column.above});
    }
    Grid grid(std::move(widths));
    for (std::size_t i = 0; i < shown_rows; ++i) {
      std::vector<Tone> tones;
      for (const Column& column : columns) {
        tones.push_back(column.tone ? column.tone(*rows[i]) : Tone());
      }
      grid.add(cells_of(view, columns, *rows[i], Face::kTerminal, style), std::move(tones));
    }
    std::vector<std::size_t> cut;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (columns[c].shrink > 0) {
        cut.push_back(c);
      }
    }
    std::ranges::sort(cut, {}, [&](std::size_t c) { return columns[c].shrink; });
    const auto next = std::ranges::max_element(columns, {}, &Column::drop);
    if (next->drop > 0 &&
        grid.least_width(cut) > static_cast<std::size_t>(std::max(style.width, 0))) {
      columns.erase(next);
      continue;
    }
    return grid.render(style, cut) +
           (shown_rows < rows.size()
                ? fmt::format("and {} more: --format json\n", rows.size() - shown_rows)
                : std::string());
  }
}

}  // namespace

std::string cell_text(const Node* value, Format format, double scale) {
  if (value == nullptr || value->is_null()) {
    return {};
  }
  if (value->is_number()) {
    return number_text(value->as_real() * scale, format);
  }
  if (value->kind() == Node::Kind::kBool) {
    return value->as_bool() ? "true" : "false";
  }
  return value->is_string() ? value->as_string() : std::string();
}

std::string render(const TableView& view, const Rows& rows, Face face, const TextStyle& style) {
  const std::vector<Column> columns = shown(view, face);
  if (face == Face::kTerminal) {
    return terminal_table(view, columns, rows, style);
  }
  std::vector<std::string> titles;
  for (const Column& column : columns) {
    titles.push_back(spelt(column.title, column, face, style));
  }
  std::string text;
  if (face == Face::kMarkdown) {
    text = joined(titles, "| ", " | ", " |") +
           joined(std::vector<std::string>(titles.size(), "---"), "|", "|", "|");
  } else {
    text = face == Face::kCsv ? joined(titles, "", ",", "")
                              : "<div class=\"wide\" tabindex=\"0\"><table>\n" +
                                    joined(titles, "<tr><th>", "</th><th>", "</th></tr>");
  }
  for (const Node* row : rows) {
    const std::vector<std::string> cells = cells_of(view, columns, *row, face, style);
    text += face == Face::kMarkdown ? joined(cells, "| ", " | ", " |")
            : face == Face::kCsv    ? joined(cells, "", ",", "")
                                    : joined(cells, "<tr><td>", "</td><td>", "</td></tr>");
  }
  return face == Face::kHtml ? text + "</table></div>\n" : text;
}

std::string section(const TableView& view, const Rows& rows, Face face, const TextStyle& style) {
  if (rows.empty()) {
    return {};
  }
  const std::string table = render(view, rows, face, style);
  if (face == Face::kMarkdown) {
    return fmt::format(
        "\n## {}\n\n{}{}", view.title, view.about.empty() ? "" : view.about + "\n\n", table);
  }
  if (face == Face::kHtml) {
    return fmt::format("<section>\n<h2>{}</h2>\n<p class=\"caption\">{}</p>\n{}</section>\n",
                       xml_escaped(view.title),
                       xml_escaped(view.about),
                       table);
  }
  return "\n" + table;
}

Rows rows_at(const Node& tree, std::string_view path) {
  const Node* const list = at_path(tree, path);
  return list != nullptr && list->is_list() ? rows_of(list->items()) : Rows();
}

Rows rows_of(const std::vector<Node>& nodes) {
  Rows rows;
  for (const Node& node : nodes) {
    rows.push_back(&node);
  }
  return rows;
}

Face face_of(std::string_view format) {
  return format == "markdown" ? Face::kMarkdown
         : format == "html"   ? Face::kHtml
         : format == "csv"    ? Face::kCsv
                              : Face::kTerminal;
}

}  // namespace ridgeline::report
