#include "report/warning_lines.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/text_lines.hpp"

namespace ridgeline::report {

LineLayout sentence_layout(const TextStyle& style) {
  constexpr int kNarrowest = 48;
  constexpr int kWidest = 100;
  return {.width = static_cast<std::size_t>(std::clamp(style.width, kNarrowest, kWidest)),
          .indent = 2,
          .reset = style.palette.reset};
}

std::string warning_lines(const core::Warnings& warnings, const TextStyle& style) {
  LineLayout layout = sentence_layout(style);
  layout.separator = " ";
  std::string text;
  for (const auto& warning : warnings) {
    std::string sentence = printable(warning.message, style.ascii);
    if (!warning.hint.empty()) {
      sentence += (style.ascii ? " - " : " \u2013 ") + printable(warning.hint, style.ascii);
    }
    std::vector<Piece> pieces = words(sentence);
    pieces.insert(pieces.begin(),
                  {.text = "warning " + printable(warning.code, style.ascii) + ":",
                   .colour = style.palette.warn});
    text += wrapped("", pieces, layout);
  }
  return text;
}

}  // namespace ridgeline::report
