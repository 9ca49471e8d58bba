#include "plan/integer_program.hpp"

#include <cstddef>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/system_library.hpp"

namespace ridgeline::plan {
namespace {

/// Functions of Cbc_C_Interface.h (Cbc 2.10), by their names there.
struct Cbc {
  /// The version whose interface is declared here.
  core::SystemLibrary library{"libCbcSolver.so.3", "coinor-libcbc3", "mixes of GPUs need"};
  void* (*new_model)() = nullptr;
  void (*delete_model)(void*) = nullptr;
  void (*load_problem)(void*,
                       int columns,
                       int rows,
                       const int* starts,
                       const int* index,
                       const double* value,
                       const double* column_lower,
                       const double* column_upper,
                       const double* objective,
                       const double* row_lower,
                       const double* row_upper) = nullptr;
  void (*set_integer)(void*, int column) = nullptr;
  void (*set_log_level)(void*, int level) = nullptr;
  int (*solve)(void*) = nullptr;
  int (*is_proven_optimal)(void*) = nullptr;
  const double* (*solution)(void*) = nullptr;
};

Cbc load() {
  Cbc cbc;
  cbc.library.find("Cbc_newModel", cbc.new_model);
  cbc.library.find("Cbc_deleteModel", cbc.delete_model);
  cbc.library.find("Cbc_loadProblem", cbc.load_problem);
  cbc.library.find("Cbc_setInteger", cbc.set_integer);
  cbc.library.find("Cbc_setLogLevel", cbc.set_log_level);
  cbc.library.find("Cbc_solve", cbc.solve);
  cbc.library.find("Cbc_isProvenOptimal", cbc.is_proven_optimal);
  cbc.library.find("Cbc_getColSolution", cbc.solution);
  return cbc;
}

/// A program column by column, as the library takes it.
struct Columns {
  std::vector<int> starts = {0};
  std::vector<int> index;
  std::vector<double> value;
};

Columns by_column(const IntegerProgram& program) {
  std::vector<std::vector<std::pair<int, double>>> terms(program.columns.size());
  for (std::size_t row = 0; row < program.rows.size(); ++row) {
    for (const auto& [column, factor] : program.rows[row].terms) {
      terms[column].emplace_back(static_cast<int>(row), factor);
    }
  }
  Columns columns;
  for (const auto& of_column : terms) {
    for (const auto& [row, factor] : of_column) {
      columns.index.push_back(row);
      columns.value.push_back(factor);
    }
    columns.starts.push_back(static_cast<int>(columns.index.size()));
  }
  return columns;
}

}  // namespace

core::Result<std::optional<std::vector<double>>> solve(const IntegerProgram& program) {
  static const Cbc kCbc = load();
  if (const auto usable = kCbc.library.check(); !usable) {
    return core::fail(usable.error());
  }
  const Columns columns = by_column(program);
  std::vector<double> lower(program.columns.size(), 0.0);
  std::vector<double> upper;
  std::vector<double> cost;
  for (const IntegerProgram::Column& column : program.columns) {
    upper.push_back(column.highest);
    cost.push_back(column.cost);
  }
  std::vector<double> row_lower;
  std::vector<double> row_upper;
  for (const IntegerProgram::Row& row : program.rows) {
    row_lower.push_back(row.lowest);
    row_upper.push_back(row.highest);
  }
  static std::mutex in_use;  // Nothing says that the library may be in use twice.
  const std::scoped_lock lock(in_use);
  void* model = kCbc.new_model();
  kCbc.set_log_level(model, 0);
  kCbc.load_problem(model,
                    static_cast<int>(program.columns.size()),
                    static_cast<int>(program.rows.size()),
                    columns.starts.data(),
                    columns.index.data(),
                    columns.value.data(),
                    lower.data(),
                    upper.data(),
                    cost.data(),
                    row_lower.data(),
                    row_upper.data());
  for (std::size_t i = 0; i < program.columns.size(); ++i) {
    if (program.columns[i].is_integer) {
      kCbc.set_integer(model, static_cast<int>(i));
    }
  }
  static_cast<void>(kCbc.solve(model));
  std::optional<std::vector<double>> values;
  if (kCbc.is_proven_optimal(model) != 0) {
    const double* found = kCbc.solution(model);
    values.emplace(found, found + program.columns.size());
  }
  kCbc.delete_model(model);
  return values;
}

}  // namespace ridgeline::plan
