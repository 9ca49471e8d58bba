#include "workload/traces/reading/csv.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "document/reader.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/fields.hpp"

namespace ridgeline::workload {
namespace {

std::string_view trimmed(std::string_view cell) {
  while (cell.starts_with(' ')) {
    cell.remove_prefix(1);
  }
  while (cell.ends_with(' ')) {
    cell.remove_suffix(1);
  }
  return cell;
}

/// Takes the first cell of `rest` and the comma behind it; false when it is the last one.
bool take_cell(std::string_view& rest, std::string_view& cell) {
  std::size_t comma = 0;
  if (rest.starts_with('"')) {
    std::size_t end = 1;
    while (end < rest.size() && (rest[end] != '"' || rest.substr(end).starts_with("\"\""))) {
      end += rest[end] == '"' ? 2U : 1U;
    }
    end = std::min(end, rest.size());
    comma = rest.find(',', end);
    const bool is_quoted = end < rest.size() && (comma == end + 1 || end + 1 == rest.size());
    // Quotes that do not hold the whole cell are part of it.
    cell = is_quoted ? rest.substr(1, end - 1) : trimmed(rest.substr(0, comma));
  } else {
    const void* const found = std::memchr(rest.data(), ',', rest.size());
    comma = found == nullptr
                ? std::string_view::npos
                : static_cast<std::size_t>(static_cast<const char*>(found) - rest.data());
    cell = trimmed(rest.substr(0, comma));
  }
  if (comma == std::string_view::npos) {
    rest = {};
    return false;
  }
  rest.remove_prefix(comma + 1);
  return true;
}

std::string describe_row(std::string_view text, std::size_t columns) {
  if (text.empty()) {
    return "an empty line";
  }
  if (text.starts_with('{')) {
    return "a JSON object";
  }
  return fmt::format("{} {} ({})", columns, core::plural("column", columns), core::quote(text));
}

/// The names of those that have to be there.
std::string joined(std::span<const CsvColumn> columns) {
  std::string text;
  for (const CsvColumn& column : columns) {
    if (column.required) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", column.name);
    }
  }
  return text;
}

}  // namespace

std::vector<std::string_view> split_csv(std::string_view line) {
  std::vector<std::string_view> cells;
  std::string_view cell;
  while (take_cell(line, cell)) {
    cells.push_back(cell);
  }
  cells.push_back(cell);
  return cells;
}

std::string_view first_line(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) {
    text.remove_suffix(1);
  }
  return text;
}

CsvRowParser::CsvRowParser(std::span<const CsvColumn> columns, bool strict)
    : columns_(columns), strict_(strict), present_(columns.size()), cells_(columns.size()) {}

bool CsvRowParser::note_column(const TraceLine& line, std::string_view cell) {
  const auto found = std::ranges::find(columns_, cell, &CsvColumn::name);
  if (found == columns_.end()) {
    meaning_.push_back(kNoColumn);
    if (!strict_) {
      return true;
    }
    std::vector<std::string> names;
    for (const CsvColumn& column : columns_) {
      names.emplace_back(column.name);
    }
    const auto meant = document::nearest(cell, names);
    line.problem("",
                 cell,
                 fmt::format("the unknown name {}", core::quote(cell)),
                 joined(columns_),
                 meant ? fmt::format("did you mean '{}'?", *meant) : std::string());
    return false;
  }
  const auto column = static_cast<std::size_t>(found - columns_.begin());
  if (present_[column]) {
    meaning_.push_back(kNoColumn);
    line.problem(found->name, cell, "this name twice", "it once");
    return false;
  }
  present_[column] = true;
  meaning_.push_back(column);
  return true;
}

bool CsvRowParser::header(const TraceLine& line) {
  bool sound = true;
  for (const auto cell : split_csv(line.text())) {
    sound = note_column(line, cell) && sound;
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].required && !present_[i]) {
      line.problem(columns_[i].name,
                   line.text(),
                   fmt::format("no '{}'", columns_[i].name),
                   joined(columns_));
      sound = false;
    }
  }
  return sound;
}

bool CsvRowParser::split(const TraceLine& line) {
  std::string_view rest = line.text();
  std::size_t position = 0;
  bool more = true;
  while (more) {
    std::string_view cell;
    more = take_cell(rest, cell);
    if (position < meaning_.size() && meaning_[position] != kNoColumn) {
      cells_[meaning_[position]] = cell;
    }
    ++position;
  }
  if (position == meaning_.size()) [[likely]] {
    return true;
  }
  const bool lacks_known = position < meaning_.size() && meaning_[position] != kNoColumn;
  line.problem(lacks_known ? columns_[meaning_[position]].name : "",
               line.text(),
               describe_row(line.text(), position),
               fmt::format("{} columns", meaning_.size()));
  return false;
}

RowStatus CsvRowParser::row(const TraceLine& line, TraceRow& row) {
  return split(line) ? read(line, cells_, row) : RowStatus::kBad;
}

}  // namespace ridgeline::workload
