#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workload/traces/format.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/trace_clock.hpp"

namespace ridgeline::workload {

/// The cells of a comma-separated line, without the spaces around them and without the quotes of
/// quoted cells (a doubled quote inside stays doubled).
std::vector<std::string_view> split_csv(std::string_view line);

/// The first line of a text, without its end.
std::string_view first_line(std::string_view text);

/// A column that a format knows.
struct CsvColumn {
  std::string_view name;
  bool required = true;
};

/// Reads CSV with a header: finds the columns of a format wherever they stand. Columns that it does
/// not know are read over, or are a problem for a strict format.
class CsvRowParser : public RowParser {
 public:
  explicit CsvRowParser(std::span<const CsvColumn> columns, bool strict = false);

  bool header(const TraceLine& line) final;
  RowStatus row(const TraceLine& line, TraceRow& row) final;

 protected:
  /// Cells in the order of the format's columns; those that the file lacks are null.
  using Cells = std::span<const std::string_view>;
  virtual RowStatus read(const TraceLine& line, Cells cells, TraceRow& row) = 0;
  [[nodiscard]] std::string_view name(std::size_t column) const { return columns_[column].name; }
  [[nodiscard]] bool has(std::size_t column) const { return present_[column]; }
  [[nodiscard]] TraceClock& clock() { return clock_; }

 private:
  static constexpr std::size_t kNoColumn = static_cast<std::size_t>(-1);
  bool note_column(const TraceLine& line, std::string_view cell);
  bool split(const TraceLine& line);

  std::span<const CsvColumn> columns_;
  bool strict_;
  std::vector<bool> present_;
  std::vector<std::size_t> meaning_;  ///< Meaning of each position in the file.
  std::vector<std::string_view> cells_;
  TraceClock clock_;
};

}  // namespace ridgeline::workload
