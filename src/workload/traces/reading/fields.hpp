#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::workload {

/// Problems noted in one trace; the next ones would seldom tell more.
inline constexpr std::size_t kMaxTraceProblems = 20;

/// Whether every byte is ASCII.
[[nodiscard]] bool is_ascii(std::string_view text);

/// One line of a trace, or a text of several, and the place where its problems are noted.
class TraceLine {
 public:
  TraceLine(std::string_view text,
            const std::string& file,
            std::int64_t number,
            core::Errors& errors)
      : text_(text), file_(&file), number_(number), errors_(&errors) {}

  [[nodiscard]] std::string_view text() const { return text_; }
  /// Whether it is UTF-8; notes the first byte that is not.
  [[nodiscard]] bool is_text() const;

  /// Notes "found X, expected Y" at a byte of the line (from 0), for a column by name (may be
  /// empty). Beyond kMaxTraceProblems nothing more is noted.
  void problem(std::string_view column,
               std::size_t at,
               std::string_view found,
               std::string_view expected,
               std::string hint = {}) const;
  /// Notes a problem at the start of a piece of text().
  void problem(std::string_view column,
               std::string_view piece,
               std::string_view found,
               std::string_view expected,
               std::string hint = {}) const;

 private:
  std::string_view text_;
  const std::string* file_;
  std::int64_t number_;
  core::Errors* errors_;
};

/// Each reads a whole cell of `line`, which must be a part of its text; on a problem it notes it
/// and returns false.
///
/// A number of tokens: decimal digits, `lowest` to kMaxTokensPerRequest. A decimal point with
/// nothing but zeros behind it is read over ("374.0", as pandas writes columns with gaps).
bool read_tokens(const TraceLine& line,
                 std::string_view column,
                 std::string_view cell,
                 core::Tokens& tokens,
                 std::int64_t lowest = 1);
/// A whole number, lowest to highest.
bool read_integer(const TraceLine& line,
                  std::string_view column,
                  std::string_view cell,
                  std::int64_t lowest,
                  std::int64_t highest,
                  std::int64_t& value);
/// A time, 0 to kLatestArrival: digits, optionally a point and decimals, optionally an exponent.
/// Exact to the picosecond; what is finer is rounded, half up.
bool read_seconds(const TraceLine& line,
                  std::string_view column,
                  std::string_view cell,
                  core::Duration& time);
/// A unit of 10^-`digits` seconds ("milliseconds": 3), in which read_time() reads a time.
struct TimeUnit {
  std::string_view name;
  int digits = 0;
};
inline constexpr TimeUnit kSecondsUnit = {"seconds", 0};
inline constexpr TimeUnit kMillisecondsUnit = {"milliseconds", 3};
inline constexpr TimeUnit kMicrosecondsUnit = {"microseconds", 6};
inline constexpr TimeUnit kNanosecondsUnit = {"nanoseconds", 9};
bool read_time(const TraceLine& line,
               std::string_view column,
               std::string_view cell,
               const TimeUnit& unit,
               core::Duration& time);

/// The time as a decimal number of seconds, or of another unit, exactly.
std::string seconds_text(core::Duration time);
std::string time_text(core::Duration time, const TimeUnit& unit);

}  // namespace ridgeline::workload
