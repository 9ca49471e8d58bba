#include "latency/measured/csv_columns.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "document/reader.hpp"

namespace ridgeline::latency::measured {
namespace {

constexpr double kLargestCount = 1099511627776.0;  // 2^40: squares and products stay exact enough

constexpr double kMicrosecond = 1e-6;  // seconds
constexpr double kMillisecond = 1e-3;

std::string expectation(CellKind kind) {
  switch (kind) {
    case CellKind::kCount:
      return "a whole number from 1 to 2^40";
    case CellKind::kMicroseconds:
      return fmt::format("microseconds above 0, up to {:.0f}",
                         kLongestKernel.value() / kMicrosecond);
    case CellKind::kMilliseconds:
      return fmt::format("milliseconds above 0, up to {:.0f}",
                         kLongestKernel.value() / kMillisecond);
    case CellKind::kMfu:
      return fmt::format("a number from 0 to {}", kLargestMfu);
    case CellKind::kFraction:
      return "a number from 0 to 2^40";
    case CellKind::kWord:
    case CellKind::kText:
      break;
  }
  return "a word of letters, digits, '_', '.' and '-'";
}

bool is_word(std::string_view cell) {
  return !cell.empty() && std::ranges::all_of(cell, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  });
}

std::optional<double> read_number(std::string_view cell, CellKind kind) {
  const auto number = core::parse_whole<double>(cell);
  if (!number || !std::isfinite(*number)) {
    return std::nullopt;
  }
  const double value = *number;
  if (kind == CellKind::kCount) {
    const bool whole = value >= 1.0 && value <= kLargestCount && std::floor(value) == value;
    return whole ? std::optional(value) : std::nullopt;
  }
  if (kind == CellKind::kFraction || kind == CellKind::kMfu) {
    const double most = kind == CellKind::kMfu ? kLargestMfu : kLargestCount;
    const bool in_range = value >= 0.0 && !std::signbit(value) && value <= most;
    return in_range ? std::optional(value) : std::nullopt;
  }
  const double unit = kind == CellKind::kMicroseconds ? kMicrosecond : kMillisecond;
  const bool in_range = value > 0.0 && value * unit <= kLongestKernel.value();
  return in_range ? std::optional(value) : std::nullopt;
}

std::string_view trimmed(std::string_view cell) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!cell.empty() && is_blank(cell.front())) {
    cell.remove_prefix(1);
  }
  while (!cell.empty() && is_blank(cell.back())) {
    cell.remove_suffix(1);
  }
  return cell;
}

void split_cells(std::string_view line, std::vector<std::string_view>& cells) {
  cells.clear();
  while (true) {
    const auto comma = line.find(',');
    cells.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) {
      return;
    }
    line.remove_prefix(comma + 1);
  }
}

/// Takes the next line off the text, without its end.
std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

std::string header_text(std::span<const CsvColumn> columns) {
  std::string text;
  for (const CsvColumn& column : columns) {
    text += (text.empty() ? "" : ",") + std::string(column.name);
  }
  return text;
}

class CsvColumnsReader {
 public:
  CsvColumnsReader(const std::string& file, std::span<const CsvColumn> columns)
      : file_(file), columns_(columns) {
    rows_.numbers.resize(columns.size());
    rows_.words.resize(columns.size());
  }

  CsvRows read(std::string_view text) && {
    text = core::without_byte_order_mark(text);
    int number = 0;
    bool has_header = false;
    while (!text.empty()) {
      const std::string_view line = take_line(text);
      ++number;
      if (trimmed(line).empty()) {
        continue;
      }
      split_cells(line, cells_);
      if (has_header) {
        row(number);
        continue;
      }
      if (!header(line, number)) {
        return std::move(rows_);
      }
      has_header = true;
    }
    if (!has_header) {
      problem(0, {}, fmt::format("is empty, expected the header {}", header_text(columns_)));
    } else if (rows_.lines.empty() && rows_.errors.empty()) {
      problem(0, {}, "has a header and no rows");
    }
    return std::move(rows_);
  }

 private:
  void problem(int line, std::string column, std::string what) {
    note_problem(rows_.errors, file_, line, std::move(column), std::move(what));
  }

  bool header(std::string_view line, int number) {
    width_ = cells_.size();
    bool sound = true;
    std::size_t found = 0;
    std::size_t named = 0;
    for (const CsvColumn& column : columns_) {
      const auto times = std::ranges::count(cells_, column.name);
      const auto at = std::ranges::find(cells_, column.name);
      places_.push_back(static_cast<std::size_t>(at - cells_.begin()));
      found += times > 0 || column.optional ? 1 : 0;
      named += times > 0 ? 1 : 0;
      if (times > 1) {
        problem(number, std::string(column.name), "stands twice in the header");
        sound = false;
      }
    }
    if (named == 0) {
      problem(number,
              {},
              fmt::format("the header is missing: found {}, expected {}",
                          core::quote(line),
                          header_text(columns_)));
      return false;
    }
    if (found < columns_.size()) {
      missing_columns(number);
      return false;
    }
    return sound;
  }

  void missing_columns(int number) {
    const std::vector<std::string> there(cells_.begin(), cells_.end());
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (places_[i] < cells_.size() || columns_[i].optional) {
        continue;
      }
      const auto near = document::nearest(columns_[i].name, there);
      problem(number,
              std::string(columns_[i].name),
              fmt::format("the column is missing, expected {}{}",
                          header_text(columns_),
                          near ? fmt::format("; found {}", core::quote(*near)) : ""));
    }
  }

  void row(int number) {
    if (cells_.size() != width_) {
      problem(number, {}, fmt::format("found {} cells, expected {}", cells_.size(), width_));
      return;
    }
    bool sound = true;
    std::vector<double>& values = values_;
    values.assign(columns_.size(), 0.0);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const CsvColumn& column = columns_[i];
      if (places_[i] >= width_) {
        continue;
      }
      const std::string_view cell = cells_[places_[i]];
      if (column.kind == CellKind::kText) {
        continue;
      }
      const bool is_text = column.kind == CellKind::kWord;
      const auto value = is_text ? std::nullopt : read_number(cell, column.kind);
      if (is_text ? !is_word(cell) : !value) {
        problem(number,
                std::string(column.name),
                fmt::format("found {}, expected {}", core::quote(cell), expectation(column.kind)));
        sound = false;
      }
      values[i] = value.value_or(0.0);
    }
    if (!sound) {
      return;
    }
    rows_.lines.push_back(number);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].kind == CellKind::kWord || columns_[i].kind == CellKind::kText) {
        rows_.words[i].push_back(places_[i] < width_ ? cells_[places_[i]] : std::string_view());
      } else {
        rows_.numbers[i].push_back(values[i]);
      }
    }
  }

  const std::string& file_;
  std::span<const CsvColumn> columns_;
  CsvRows rows_;
  std::vector<std::string_view> cells_;
  std::vector<std::size_t> places_;  ///< Place of each column asked for, among the cells.
  std::vector<double> values_;
  std::size_t width_ = 0;
};

}  // namespace

void note_problem(
    core::Errors& errors, const std::string& file, int line, std::string column, std::string what) {
  if (errors.size() < kMaxTableProblems) {
    errors.push_back({.field = std::move(column),
                      .message = std::move(what),
                      .where = {.file = file, .line = line, .column = line > 0 ? 1 : 0}});
  }
}

CsvRows read_csv(std::string_view text,
                 const std::string& file,
                 std::span<const CsvColumn> columns) {
  return CsvColumnsReader(file, columns).read(text);
}

}  // namespace ridgeline::latency::measured
