#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::report {

/// A piece of a line and the escape sequence that colours it (empty: none).
struct Piece {
  std::string text;
  std::string_view colour = {};
};

/// How pieces become lines.
struct LineLayout {
  std::size_t width = 100;
  std::size_t indent = 0;  ///< Indent of every line after the first.
  std::string_view separator = "   ";
  std::string_view reset = {};  ///< Ends a colour.
};

/// `label`, then the pieces side by side, as many per line as fit; ends in a newline. A piece is
/// never broken.
[[nodiscard]] std::string wrapped(std::string_view label,
                                  const std::vector<Piece>& pieces,
                                  const LineLayout& layout);

/// The words of a text as pieces, for a paragraph (separator " ").
[[nodiscard]] std::vector<Piece> words(std::string_view text);

}  // namespace ridgeline::report
