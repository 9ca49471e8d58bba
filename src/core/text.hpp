#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.hpp"

namespace ridgeline::core {

/// 2^53: every integer up to here is a double of its own.
inline constexpr double kLargestExactInteger = 9007199254740992.0;

/// The number of bytes before the first one that is not well-formed UTF-8 (Unicode 15, table 3-7:
/// no overlong forms, no surrogates); the size of the text when all of it is.
std::size_t valid_utf8_prefix(std::string_view text);

/// The text after its UTF-8 byte order mark, if it has one.
std::string_view without_byte_order_mark(std::string_view text);

/// The text in double quotes for an error message: control characters, quotes and invalid bytes
/// escaped, cut after 60 characters.
std::string quote(std::string_view text);

/// The text as a line that a terminal may be sent: control characters and invalid bytes escaped.
/// What is escaped already stays.
std::string escaped(std::string_view text);

/// A file's name as a message shows it: as it is, or, should it hold control characters or invalid
/// bytes, quoted whole.
std::string shown_path(std::string_view path);

/// The fewest digits that read back as the same double; integral values up to 2^53 have no
/// exponent.
std::string shortest(double value);

/// In lower case, letter by letter of ASCII.
[[nodiscard]] std::string lower_case(std::string_view text);

/// A text as one cell of a CSV line (RFC 4180): quoted where it holds a comma, a quote or a line
/// break.
[[nodiscard]] std::string csv_cell(std::string_view text);

/// The noun as it stands behind a count: "request" behind 1, "requests" behind every other.
template <std::integral Count>
std::string plural(std::string_view noun, Count count) {
  return std::string(noun) + (count == 1 ? "" : "s");
}

/// The value times 10^exponent in decimal: the digits of shortest(), the point moved, read back.
/// Values that are not finite stay.
double times_power_of_ten(double value, int exponent);
/// The microseconds of a time as its shortest decimal has them: 0.000123 s are 123 us, where
/// multiplying gives 122.99999999999999.
[[nodiscard]] double exact_microseconds(Seconds time);

/// Turns byte offsets of a text into lines and columns. Offsets that ascend read the text once in
/// all; one before the last costs the same anywhere in the text, however long its lines are.
class TextPositions {
 public:
  struct Position {
    int line = 1;    ///< From 1.
    int column = 1;  ///< From 1, in characters (code points).
  };

  /// `text` must outlive this object.
  explicit TextPositions(std::string_view text);

  /// Offsets past the end count as the end.
  [[nodiscard]] Position at(std::size_t offset);

 private:
  std::string_view text_;
  bool is_plain_;                      ///< One line of ASCII: columns are offsets.
  std::vector<Position> checkpoints_;  ///< Every so many bytes of what has been read.
  std::size_t last_ = 0;
  Position last_position_;
};

/// What the system says of an errno: "No such file or directory".
[[nodiscard]] std::string system_message(int code);

}  // namespace ridgeline::core
