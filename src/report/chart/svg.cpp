#include "report/chart/svg.hpp"

#include <cstddef>
#include <string>
#include <string_view>

#include "core/characters.hpp"

namespace ridgeline::report {

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const core::Character character = core::character_at(text, at);
    if (character.code == U'&') {
      escaped += "&amp;";
    } else if (character.code == U'<') {
      escaped += "&lt;";
    } else if (character.code == U'>') {
      escaped += "&gt;";
    } else if (character.code == U'"') {
      escaped += "&quot;";
    } else if (character.is_printable()) {
      escaped += text.substr(at, character.length);
    } else if (!character.is_well_formed) {
      escaped += "\xEF\xBF\xBD";
    }
    at += character.length;
  }
  return escaped;
}

}  // namespace ridgeline::report
