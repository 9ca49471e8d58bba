#include "workload/traces/csv.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "workload/traces/fields.hpp"

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

std::string describe_row(std::string_view text, std::ptrdiff_t columns) {
  if (text.empty()) {
    return "an empty line";
  }
  if (text.starts_with('{')) {
    return "a JSON object";
  }
  return fmt::format("{} column{} ({})", columns, columns == 1 ? "" : "s", core::quote(text));
}

}  // namespace

std::vector<std::string_view> split_csv(std::string_view line) {
  std::vector<std::string_view> cells;
  for (;;) {
    const std::size_t comma = line.find(',');
    cells.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) {
      return cells;
    }
    line.remove_prefix(comma + 1);
  }
}

bool split_row(const TraceLine& line, CsvCells& cells) {
  const std::string_view text = line.text();
  const std::size_t first = text.find(',');
  const std::size_t second = first == std::string_view::npos ? first : text.find(',', first + 1);
  if (second == std::string_view::npos || text.find(',', second + 1) != std::string_view::npos) {
    line.problem("",
                 text,
                 describe_row(text, std::count(text.begin(), text.end(), ',') + 1),
                 fmt::format("{} columns", kTraceColumns));
    return false;
  }
  cells = {trimmed(text.substr(0, first)),
           trimmed(text.substr(first + 1, second - first - 1)),
           trimmed(text.substr(second + 1))};
  return true;
}

std::string_view first_line(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) {
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace ridgeline::workload
