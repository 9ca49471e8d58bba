#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ridgeline::core {

/// A character at a place of a text.
struct Character {
  std::size_t length = 1;     ///< In bytes; 1 of what is not well-formed.
  char32_t code = U'\uFFFD';  ///< Its code point; the replacement character of what is not.
  bool is_well_formed = false;
  /// Whether readers and terminals take it for text: not for a command, a line break or none of
  /// their characters. The others are control characters (a tab and a line break are some),
  /// separators of lines and paragraphs, marks that turn the direction of writing, byte order marks
  /// and noncharacters. They are what escaped() and quote() of core/text.hpp escape.
  [[nodiscard]] bool is_printable() const;
};
[[nodiscard]] Character character_at(std::string_view text, std::size_t at);

/// "# text", escaped, and a line break: a comment of a shell, of YAML and of nginx that nothing in
/// the text can end.
[[nodiscard]] std::string comment_line(std::string_view text);

}  // namespace ridgeline::core
