#include "report/table/grid.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {
namespace {

constexpr std::size_t kColumnsApart = 2;
constexpr std::size_t kNarrowestColumn = 8;  ///< A cell that is cut further says nothing.

}  // namespace

Grid::Grid(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (Column& column : columns_) {
    column.width =
        std::max({column.width, display_width(column.title), display_width(column.above)});
  }
}

void Grid::add(std::vector<std::string> cells, std::vector<Tone> tones) {
  RIDGELINE_CHECK(cells.size() <= columns_.size(), "a cell without a column");
  for (std::size_t c = 0; c < cells.size(); ++c) {
    columns_[c].width = std::max(columns_[c].width, display_width(cells[c]));
  }
  rows_.push_back({.cells = std::move(cells), .tones = std::move(tones)});
}

std::size_t Grid::least_width(std::span<const std::size_t> shrinkable) const {
  std::size_t width = kColumnsApart * (columns_.size() - 1);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const bool shrinks = std::ranges::find(shrinkable, c) != shrinkable.end();
    width += shrinks ? std::min(columns_[c].width, kNarrowestColumn) : columns_[c].width;
  }
  return width;
}

std::string Grid::render(const TextStyle& style, std::span<const std::size_t> shrinkable) const {
  std::vector<std::size_t> widths;
  std::vector<std::string> titles;
  for (const Column& column : columns_) {
    widths.push_back(column.width);
    titles.push_back(column.title);
  }
  const auto limit = static_cast<std::size_t>(std::max(style.width, 0));
  for (const std::size_t c : shrinkable) {
    const std::size_t used =
        std::accumulate(widths.begin(), widths.end(), kColumnsApart * (widths.size() - 1));
    const std::size_t excess = used > limit ? used - limit : 0;
    const std::size_t least = std::min(widths[c], kNarrowestColumn);
    widths[c] = std::max(least, widths[c] - std::min(excess, widths[c]));
  }
  const auto dim = [&](const std::vector<std::string>& cells) {
    return style.palette.paint(style.palette.dim, line({.cells = cells}, widths, style)) + "\n";
  };
  std::vector<std::string> above;
  bool has_above = false;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const bool is_new = c == 0 || columns_[c].above != columns_[c - 1].above;
    above.push_back(is_new ? columns_[c].above : std::string());
    has_above = has_above || !columns_[c].above.empty();
  }
  std::string text = (has_above ? dim(above) : std::string()) + dim(titles);
  for (const auto& row : rows_) {
    text += line(row, widths, style) + "\n";
  }
  return text;
}

std::string Grid::line(const Row& row,
                       const std::vector<std::size_t>& widths,
                       const TextStyle& style) const {
  std::string text;
  for (std::size_t c = 0; c < row.cells.size(); ++c) {
    const std::string cell = shortened(row.cells[c], widths[c], style.ascii);
    const std::string blank(widths[c] - display_width(cell), ' ');
    const std::string_view colour = style.palette.of(c < row.tones.size() ? row.tones[c] : Tone());
    text.append(c == 0 ? 0 : kColumnsApart, ' ');
    const std::size_t lead = std::min(cell.find_first_not_of(' '), cell.size());
    const std::string shown = cell.substr(0, lead) + style.palette.paint(colour, cell.substr(lead));
    text += columns_[c].left ? shown + blank : blank + shown;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace ridgeline::report
