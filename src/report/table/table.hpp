#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {

/// Every table of a result is declared once, over rows of the tree that its JSON is, and comes out
/// as text for a terminal, Markdown, HTML or CSV.
enum class Face : std::uint8_t { kTerminal, kMarkdown, kHtml, kCsv };

/// How a cell shows its value: what is missing is a dash. CSV has all digits, and nothing for what
/// is missing.
enum class Format : std::uint8_t {
  kText,         ///< A text, or a number in the fewest digits that read back the same.
  kCount,        ///< A whole number with its thousands set apart.
  kSignificant,  ///< Three or four digits.
  kFixed0,
  kFixed1,
  kFixed2,
  kSigned1,
  kSigned2,
  kShare,  ///< 0 to 1, in percent.
};

struct Column {
  enum class On : std::uint8_t { kAll, kTerminal, kPages };

  std::string title = {};
  std::string path = {};  ///< Where its value stands in a row: "e2e.median_abs_pct".
  Format format = Format::kText;
  std::function<std::string(const document::Node& row)> cell =
      {};                                                    ///< In place of path and format.
  std::function<Tone(const document::Node& row)> tone = {};  ///< On a terminal.
  On on = On::kAll;
  bool right = false;  ///< A text that stands flush right, as numbers do.
  double scale = 1.0;  ///< Numbers are multiplied by it.
  // On a terminal:
  std::size_t width = 0;      ///< The least.
  std::size_t most = 0;       ///< Characters that a cell has at most, where that is not 0.
  std::string terminal = {};  ///< Its title, if another.
  std::string above = {};     ///< A title over it and its neighbours of the same.
  int drop = 0;    ///< Columns above 0 go where the table is too wide, the highest first.
  int shrink = 0;  ///< Columns above 0 are cut before, the lowest first.
};

struct TableView {
  std::string title = {};               ///< A heading on pages.
  std::string about = {};               ///< A sentence below it.
  std::string_view missing = "\u2013";  ///< In ASCII "-".
  std::vector<Column> columns;
  std::size_t most_rows = 0;  ///< On a terminal, where that is not 0: the other formats have all.
};

using Rows = std::vector<const document::Node*>;

/// A value as a cell shows it; empty where there is none.
[[nodiscard]] std::string cell_text(const document::Node* value, Format format, double scale = 1.0);

/// The table alone.
[[nodiscard]] std::string render(const TableView& view,
                                 const Rows& rows,
                                 Face face,
                                 const TextStyle& style);
/// With its heading, set off from what stands before it; nothing without rows.
[[nodiscard]] std::string section(const TableView& view,
                                  const Rows& rows,
                                  Face face,
                                  const TextStyle& style);

/// The items of a list there; none where there is no list.
[[nodiscard]] Rows rows_at(const document::Node& tree, std::string_view path);
/// `nodes` outlive the rows.
[[nodiscard]] Rows rows_of(const std::vector<document::Node>& nodes);

/// The face that a format of the command line names; "table" is a terminal's.
[[nodiscard]] Face face_of(std::string_view format);

}  // namespace ridgeline::report
