#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::deploy {

/// In an expanded text, what stands around the name of what has no value.
inline constexpr char kMarkBegin = '\x01';
inline constexpr char kMarkEnd = '\x02';

/// Whether a text has a mark.
[[nodiscard]] inline bool is_unknown(std::string_view text) {
  return text.find(kMarkBegin) != std::string_view::npos;
}
/// The variables without a value, the commands and the placeholders in a text of a script.
[[nodiscard]] std::vector<std::string> unknowns_in(std::string_view text);
/// What stands for a variable without a value.
[[nodiscard]] std::string unknown_mark(std::string_view name);
/// The text with its marks as "~~NAME~~", which a YAML file can hold, and back.
[[nodiscard]] std::string plain_marks(std::string_view text);
[[nodiscard]] std::string marked(std::string_view text);
/// Such a text for a person: "$TP".
[[nodiscard]] std::string shown(std::string_view text);

}  // namespace ridgeline::deploy
