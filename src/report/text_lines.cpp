#include "report/text_lines.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/format.hpp"

namespace ridgeline::report {

std::string wrapped(std::string_view label,
                    const std::vector<Piece>& pieces,
                    const LineLayout& layout) {
  std::string text(label);
  std::size_t column = display_width(label);
  bool line_has_piece = false;
  for (const Piece& piece : pieces) {
    const std::size_t needed = display_width(piece.text);
    const std::size_t gap = line_has_piece ? layout.separator.size() : 0;
    if (line_has_piece && column + gap + needed > layout.width) {
      text.append("\n").append(layout.indent, ' ');
      column = layout.indent;
    } else if (line_has_piece) {
      text += layout.separator;
      column += gap;
    }
    text.append(piece.colour).append(piece.text);
    text.append(piece.colour.empty() ? std::string_view() : layout.reset);
    column += needed;
    line_has_piece = true;
  }
  return text + "\n";
}

std::vector<Piece> words(std::string_view text) {
  std::vector<Piece> pieces;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) {
      pieces.push_back({.text = std::string(text.substr(at, end - at))});
    }
    at = end + 1;
  }
  return pieces;
}

}  // namespace ridgeline::report
