#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "core/result.hpp"

namespace ridgeline::plan {

/// Minimise the sum of cost times value over columns, each from 0 to `highest`, such that every
/// row's sum lies between its bounds.
struct IntegerProgram {
  struct Column {
    double cost = 0.0;
    double highest = 0.0;
    bool is_integer = false;
  };
  struct Row {
    double lowest = 0.0;
    double highest = 0.0;
    std::vector<std::pair<std::size_t, double>> terms = {};  ///< Column and factor.
  };
  std::vector<Column> columns = {};
  std::vector<Row> rows = {};
};

/// The values of the columns at the optimum, integers to 1e-6; nothing where no values keep the
/// rows. Solved by COIN-OR's Cbc 2.10 through its C interface. The library and what it needs would
/// make every start of the program 11 ms longer, so it is loaded when it is first asked for; an
/// error where it is not installed. Threads may ask at once.
[[nodiscard]] core::Result<std::optional<std::vector<double>>> solve(const IntegerProgram& program);

}  // namespace ridgeline::plan
