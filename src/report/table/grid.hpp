#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "report/palette.hpp"

namespace ridgeline::report {

/// A table: columns as wide as their widest cell, two blanks between them.
class Grid {
 public:
  struct Column {
    std::string title;
    bool left = false;       ///< Flush left; numbers stand flush right.
    std::size_t width = 0;   ///< The least, for tables that stand below each other.
    std::string above = {};  ///< A title over it and its neighbours of the same.
  };

  explicit Grid(std::vector<Column> columns);

  /// One cell per column; those that are missing at the end are blank, tones are plain.
  void add(std::vector<std::string> cells, std::vector<Tone> tones = {});

  /// The width when the columns named by `shrinkable` are cut as far as they may be.
  [[nodiscard]] std::size_t least_width(std::span<const std::size_t> shrinkable) const;

  /// Lines of at most `style.width` columns: the columns named by `shrinkable` are cut, in that
  /// order, and no other.
  [[nodiscard]] std::string render(const TextStyle& style,
                                   std::span<const std::size_t> shrinkable = {}) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::vector<Tone> tones = {};
  };
  [[nodiscard]] std::string line(const Row& row,
                                 const std::vector<std::size_t>& widths,
                                 const TextStyle& style) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace ridgeline::report
