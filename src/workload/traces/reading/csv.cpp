#include "workload/traces/reading/csv.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/reader.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/quick_batch.hpp"
#include "workload/traces/reading/quick_four.hpp"
#include "workload/traces/reading/quick_number.hpp"
#include "workload/traces/reading/quick_row.hpp"
#include "workload/traces/reading/quick_scan.hpp"

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

/// Whether a cell of that size can be a number of tokens in range.
bool is_count_size(std::size_t size) {
  return size - 1 < kMostOfFour - 1;
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

bool CsvRowParser::note_column(const TraceLine& line, std::string_view cell, std::size_t position) {
  const auto found = std::ranges::find(columns_, cell, &CsvColumn::name);
  if (found == columns_.end()) {
    meaning_.push_back(kNoColumn);
    values_.emplace_back();
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
  static_cast<void>(position);
  meaning_.push_back(column);
  values_.push_back(found->value);
  return true;
}

bool CsvRowParser::header(const TraceLine& line) {
  bool sound = true;
  for (const auto cell : split_csv(line.text())) {
    sound = note_column(line, cell, meaning_.size()) && sound;
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
  is_plain_ = values_.size() == 3 &&
              (values_[0].kind == QuickKind::kArrival || values_[0].kind == QuickKind::kClock) &&
              values_[1].kind == QuickKind::kInputTokens &&
              values_[2].kind == QuickKind::kOutputTokens;
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

const char* CsvRowParser::quick_cell(std::size_t column,
                                     const char* at,
                                     const char* end,
                                     TraceRow& row) {
  static_cast<void>(column);
  static_cast<void>(at);
  static_cast<void>(end);
  static_cast<void>(row);
  return nullptr;
}

const char* CsvRowParser::quick_row(const char* at, const char* end, TraceRow& row) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (at >= end || (i > 0 && *at != ',')) [[unlikely]] {
      return nullptr;
    }
    at += i > 0 ? 1 : 0;
    if (values_[i].kind == QuickKind::kClock) {
      at = clock_.quick_read(at, end, row.arrival);
    } else if (values_[i].kind != QuickKind::kOther) [[likely]] {
      at = read_quick(values_[i], at, end, row);
    } else if (meaning_[i] != kNoColumn) {
      at = quick_cell(meaning_[i], at, end, row);
    } else {
      at = cell_end(at, end);
    }
    if (at == nullptr) [[unlikely]] {
      return nullptr;
    }
  }
  return line_end(at, end);
}

/// A row of a plain file that begins at `at`; as quick_row().
template <bool IsClock>
[[gnu::always_inline]] inline const char* CsvRowParser::read_plain(const char* at,
                                                                   const char* end,
                                                                   QuickRow& row) const {
  std::uint64_t marks = scan_for(at, ',', '\n');
  std::uint64_t rest = marks & (marks - 1);
  if ((rest & (rest - 1)) == 0) {
    marks |= std::uint64_t{scan_for(at + kScanSize, ',', '\n')} << kScanSize;
    rest = marks & (marks - 1);
  }
  const std::uint64_t last = rest & (rest - 1);
  if (last == 0) [[unlikely]] {
    return nullptr;
  }
  const char* const first_comma = at + std::countr_zero(marks);
  const char* const second_comma = at + std::countr_zero(rest);
  const char* const newline = at + std::countr_zero(last);
  const char* const output_end = newline - (newline[-1] == '\r' ? 1 : 0);
  QuickTime time;
  const char* time_end = nullptr;
  if constexpr (IsClock) {
    time_end = clock_.quick_find(at, end, time);
  } else {
    time_end = find_quick_time(at, time);
  }
  const auto input_size = static_cast<std::size_t>(second_comma - first_comma - 1);
  const auto output_size = static_cast<std::size_t>(output_end - second_comma - 1);
  if (time_end != first_comma || *first_comma != ',' || *second_comma != ',' || *newline != '\n' ||
      newline >= end || !is_count_size(input_size) || !is_count_size(output_size)) [[unlikely]] {
    return nullptr;
  }
  const FourNumbers numbers({time.whole,
                             time.decimals,
                             as_last_digits(first_comma + 1, input_size),
                             as_last_digits(second_comma + 1, output_size)});
  core::Duration arrival;
  const int unit = IsClock ? 0 : values_[0].unit.digits;
  if (!numbers.sound() || numbers[2] == 0 || numbers[3] == 0 ||
      !quick_ticks(unit, numbers[0], numbers[1], time.decimal_count, arrival)) [[unlikely]] {
    return nullptr;
  }
  if constexpr (IsClock) {
    if (numbers[0] >= TraceClock::kSecondsPerMinute) [[unlikely]] {
      return nullptr;
    }
    arrival += clock_.minute();
  }
  row = {.arrival = arrival,
         .input_tokens = core::Tokens(numbers[2]),
         .output_tokens = core::Tokens(numbers[3])};
  return newline + 1;
}

template <bool IsClock>
const char* CsvRowParser::read_plain_rows(const char* at,
                                          const char* end,
                                          core::Duration earliest,
                                          QuickBatch& batch) const {
  const auto rows = batch.room();
  std::size_t count = 0;
  for (; count < rows.size() && at < end; ++count) {
    QuickRow row;
    const char* const next = read_plain<IsClock>(at, end, row);
    if (next == nullptr || row.arrival < earliest) [[unlikely]] {
      break;
    }
    earliest = row.arrival;
    rows[count] = row;
    at = next;
  }
  batch.add(count);
  return at;
}

const char* CsvRowParser::quick_rows(const char* at,
                                     const char* end,
                                     core::Duration earliest,
                                     QuickBatch& batch) {
  if (!is_plain_) {
    return at;
  }
  return values_[0].kind == QuickKind::kClock ? read_plain_rows<true>(at, end, earliest, batch)
                                              : read_plain_rows<false>(at, end, earliest, batch);
}

RowStatus CsvRowParser::row(const TraceLine& line, TraceRow& row) {
  return split(line) ? read(line, cells_, row) : RowStatus::kBad;
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c;
    if (c == '"') {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace ridgeline::workload
