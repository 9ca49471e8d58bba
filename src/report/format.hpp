#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ridgeline::report {

/// An integer with its thousands set apart by spaces: 43200 is "43 200".
[[nodiscard]] std::string grouped(std::int64_t value);

/// A count and what it counts, in the singular for one: "1 request", "43 200 requests".
[[nodiscard]] std::string counted(std::int64_t count, std::string_view noun);

/// Three or four significant digits, as a person reads them: "0.412", "6.84", "24.1", "182", "2
/// 104". Integers keep all their digits; what is too small for that is written as 1.23e-07.
[[nodiscard]] std::string significant(double value);

/// A share from 0 to 1 as a percentage: "97.8 %", "100 %".
[[nodiscard]] std::string percent(double share);

/// "0.41 s", "12.3 s", "4 m 05 s", "1 h 00 m", "2 d 03 h".
[[nodiscard]] std::string human_duration(double seconds);

/// A unit of time for a row of numbers.
struct TimeUnit {
  const char* name;
  double per_ms;  ///< How many of it make a millisecond.
};
/// The unit in which a typical value of so many milliseconds reads best: us, ms or s.
[[nodiscard]] TimeUnit time_unit(double typical_ms);

/// Columns that UTF-8 text takes on a terminal, for the narrow characters that we print.
[[nodiscard]] std::size_t display_width(std::string_view text);
[[nodiscard]] std::string pad_left(std::string_view text, std::size_t width);
[[nodiscard]] std::string pad_right(std::string_view text, std::size_t width);

/// Text from outside (names, paths) made safe to print on one line: control characters become '?',
/// and with `ascii` every other character beyond ASCII too, but for
/// signs of ours like \u00d7 and \u2264, which have a spelling.
[[nodiscard]] std::string printable(std::string_view text, bool ascii);

/// A text inside a table of Markdown.
[[nodiscard]] std::string markdown_cell(std::string_view text);

/// At most `width` columns: what does not fit is cut out of the middle.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width, bool ascii);

}  // namespace ridgeline::report
