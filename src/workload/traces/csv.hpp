#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "workload/traces/fields.hpp"

namespace ridgeline::workload {

/// The three columns that every CSV trace has.
inline constexpr std::size_t kTraceColumns = 3;
using CsvCells = std::array<std::string_view, kTraceColumns>;

/// The cells of a comma-separated line, without the spaces around them. There is no quoting: no
/// column of ours needs it.
std::vector<std::string_view> split_csv(std::string_view line);
/// The same for a row, without an allocation; a row that does not have exactly three cells is a
/// problem.
bool split_row(const TraceLine& line, CsvCells& cells);

/// The first line of a text, without its end.
std::string_view first_line(std::string_view text);

}  // namespace ridgeline::workload
