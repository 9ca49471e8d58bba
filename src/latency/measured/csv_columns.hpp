#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/units.hpp"

namespace ridgeline::latency::measured {

/// What the cells of a column hold.
enum class CellKind : std::uint8_t {
  kCount,         ///< A whole number from 1 to 2^40.
  kMicroseconds,  ///< A time above 0, up to kLongestKernel.
  kMilliseconds,  ///< A time above 0, up to kLongestKernel.
  kMfu,           ///< Achieved over peak FLOP/s, from 0 to kLargestMfu.
  kFraction,      ///< A number from 0 to 2^40.
  kWord,          ///< Letters, digits and _ . -
  kText,          ///< Anything.
};

/// Longest measured call of a kernel: beyond it stands a slip of unit. Published tables end at a
/// second; a hundred layers of such calls are the longest operator of a step (kernel/plan.hpp).
inline constexpr core::Seconds kLongestKernel(10.0);
/// Beyond it no choice of peak and FLOPs explains an MFU: FP4 is at most eight times TF32.
inline constexpr double kLargestMfu = 10.0;

/// A column that a table must have, in any place. Columns of other names may stand beside it.
struct CsvColumn {
  std::string_view name;
  CellKind kind = CellKind::kCount;
  bool optional = false;  ///< Where it is absent, every cell of it is 0 or empty.
};

/// The sound rows of a table, column by column in the order of the columns asked for.
struct CsvRows {
  std::vector<int> lines;                            ///< Line of each row, from 1.
  std::vector<std::vector<double>> numbers;          ///< Empty for kWord and kText.
  std::vector<std::vector<std::string_view>> words;  ///< For kWord and kText: parts of the text.
  core::Errors errors;  ///< At most kMaxTableProblems; a row with a problem is left out.

  [[nodiscard]] std::int64_t count(std::size_t column, std::size_t row) const {
    return static_cast<std::int64_t>(numbers[column][row]);
  }
};

/// Problems noted in one table; the next ones would seldom tell more.
inline constexpr std::size_t kMaxTableProblems = 20;

/// Reads comma-separated text without quoting: a header line, then rows. LF or CRLF, blank lines
/// and a byte order mark are skipped. Each problem names file, line and column, what was found and
/// what was expected; a table without a row is a problem too. The text outlives the words.
[[nodiscard]] CsvRows read_csv(std::string_view text,
                               const std::string& file,
                               std::span<const CsvColumn> columns);

/// Notes a problem at a line, unless kMaxTableProblems are there.
void note_problem(
    core::Errors& errors, const std::string& file, int line, std::string column, std::string what);

/// Leaves the first row of each shape; the others are problems.
template <class Row, class Shape>
void refuse_repeated_rows(std::vector<Row>& rows,
                          const Shape& shape_of,
                          const std::string& path,
                          core::Errors& errors) {
  std::map<decltype(shape_of(rows.front())), int> first;
  std::erase_if(rows, [&](const Row& row) {
    const auto [at, is_new] = first.try_emplace(shape_of(row), row.line);
    if (!is_new) {
      note_problem(
          errors,
          path,
          row.line,
          {},
          fmt::format("repeats the shape of line {}, expected one row for each", at->second));
    }
    return !is_new;
  });
}

}  // namespace ridgeline::latency::measured
