#include "workload/traces/reading/fields.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/limits.hpp"

namespace ridgeline::workload {
namespace {

/// A picosecond.
constexpr int kTickDecimals = 12;

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

constexpr std::array<std::int64_t, 19> powers_of_ten() {
  std::array<std::int64_t, 19> powers{};
  std::int64_t power = 1;
  for (auto& entry : powers) {
    entry = power;
    power = power <= std::numeric_limits<std::int64_t>::max() / 10 ? power * 10 : power;
  }
  return powers;
}
constexpr auto kPowersOfTen = powers_of_ten();

enum class Problem : std::uint8_t { kNone, kNotANumber, kNegative, kTooLarge };

/// digits x 10^exponent, as written.
struct Decimal {
  std::int64_t digits = 0;
  int exponent = 0;
};

/// Takes digits from the front of `text`; false when there are none.
bool take_digits(std::string_view& text, std::int64_t& value, bool& overflow) {
  std::size_t i = 0;
  for (; i < text.size() && is_digit(text[i]); ++i) {
    if (value > (std::numeric_limits<std::int64_t>::max() - 9) / 10) {
      overflow = true;
    } else {
      value = value * 10 + (text[i] - '0');
    }
  }
  text.remove_prefix(i);
  return i > 0;
}

/// Takes "e-05" and the like from the front of `text`; false when it is cut or absurd.
bool take_exponent(std::string_view& text, int& exponent) {
  text.remove_prefix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  std::int64_t value = 0;
  bool overflow = false;
  if (!take_digits(text, value, overflow)) {
    return false;
  }
  constexpr std::int64_t kFarBeyondTime = 1000;
  const auto size = static_cast<int>(overflow ? kFarBeyondTime : std::min(value, kFarBeyondTime));
  exponent += negative ? -size : size;
  return true;
}

/// Takes the digits behind the point. Those that int64 has no room for are far below a picosecond
/// (of any time that fits), and are left out.
bool take_decimals(std::string_view& text, Decimal& decimal) {
  std::size_t i = 0;
  for (; i < text.size() && is_digit(text[i]); ++i) {
    if (decimal.digits <= (std::numeric_limits<std::int64_t>::max() - 9) / 10) {
      decimal.digits = decimal.digits * 10 + (text[i] - '0');
      --decimal.exponent;
    }
  }
  text.remove_prefix(i);
  return i > 0;
}

Problem parse_decimal(std::string_view text, Decimal& decimal) {
  const bool negative = text.starts_with('-');
  if (negative) {
    text.remove_prefix(1);
  }
  bool overflow = false;
  if (!take_digits(text, decimal.digits, overflow)) {
    return Problem::kNotANumber;
  }
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!take_decimals(text, decimal)) {
      return Problem::kNotANumber;
    }
  }
  if ((text.starts_with('e') || text.starts_with('E')) && !take_exponent(text, decimal.exponent)) {
    return Problem::kNotANumber;
  }
  if (!text.empty()) {
    return Problem::kNotANumber;
  }
  if (negative) {
    return Problem::kNegative;
  }
  return overflow ? Problem::kTooLarge : Problem::kNone;
}

Problem parse_ticks(std::string_view text, int unit_digits, std::int64_t& ticks) {
  Decimal decimal;
  if (const Problem problem = parse_decimal(text, decimal); problem != Problem::kNone) {
    return problem;
  }
  const int shift = kTickDecimals - unit_digits + decimal.exponent;
  constexpr auto kLargestShift = static_cast<int>(kPowersOfTen.size()) - 1;
  if (decimal.digits == 0) {
    ticks = 0;
    return Problem::kNone;
  }
  if (shift < 0) {
    if (-shift > kLargestShift) {
      ticks = 0;
      return Problem::kNone;
    }
    const std::int64_t divisor = kPowersOfTen[static_cast<std::size_t>(-shift)];
    ticks = decimal.digits / divisor + (decimal.digits % divisor >= divisor - divisor / 2 ? 1 : 0);
  } else {
    if (shift > kLargestShift ||
        decimal.digits > kLatestArrival.count() / kPowersOfTen[static_cast<std::size_t>(shift)]) {
      return Problem::kTooLarge;
    }
    ticks = decimal.digits * kPowersOfTen[static_cast<std::size_t>(shift)];
  }
  return ticks > kLatestArrival.count() ? Problem::kTooLarge : Problem::kNone;
}

}  // namespace

/// Eight bytes at a time: nearly every line is ASCII.
bool is_ascii(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080U;
  std::uint64_t all = 0;
  std::size_t i = 0;
  for (; i + sizeof all <= text.size(); i += sizeof all) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, sizeof word);
    all |= word;
  }
  for (; i < text.size(); ++i) {
    all |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i]));
  }
  return (all & kHighBits) == 0;
}

bool TraceLine::is_text() const {
  if (is_ascii(text_)) [[likely]] {
    return true;
  }
  const std::size_t at = core::valid_utf8_prefix(text_);
  if (at == text_.size()) {
    return true;
  }
  problem("", at, core::quote(text_.substr(at, 1)), "UTF-8 text");
  return false;
}

void TraceLine::problem(std::string_view column,
                        std::size_t at,
                        std::string_view found,
                        std::string_view expected,
                        std::string hint) const {
  if (errors_->size() >= kMaxTraceProblems) {
    return;
  }
  const std::string_view before = text_.substr(0, at);
  const std::int64_t line = number_ + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column_at = newline == std::string_view::npos ? at : at - newline - 1;
  constexpr std::int64_t kLargest = std::numeric_limits<int>::max();
  errors_->push_back({.code = core::ErrorCode::kUsage,
                      .field = std::string(column),
                      .message = fmt::format("found {}, expected {}", found, expected),
                      .where = {.file = *file_,
                                .line = static_cast<int>(std::min(line, kLargest)),
                                .column = static_cast<int>(
                                    std::min(static_cast<std::int64_t>(column_at) + 1, kLargest))},
                      .hint = std::move(hint)});
}

void TraceLine::problem(std::string_view column,
                        std::string_view piece,
                        std::string_view found,
                        std::string_view expected,
                        std::string hint) const {
  problem(column,
          piece.data() == nullptr ? 0 : static_cast<std::size_t>(piece.data() - text_.data()),
          found,
          expected,
          std::move(hint));
}

bool read_integer(const TraceLine& line,
                  std::string_view column,
                  std::string_view cell,
                  std::int64_t lowest,
                  std::int64_t highest,
                  std::int64_t& value) {
  std::string_view rest = cell;
  const bool negative = rest.starts_with('-');
  if (negative) {
    rest.remove_prefix(1);
  }
  std::int64_t number = 0;
  bool overflow = false;
  if (take_digits(rest, number, overflow) && rest.empty() && !overflow) [[likely]] {
    number = negative ? -number : number;
    if (number >= lowest && number <= highest) [[likely]] {
      value = number;
      return true;
    }
  }
  line.problem(column,
               cell,
               cell.empty() ? "an empty cell" : core::quote(cell),
               fmt::format("a whole number from {} to {}", lowest, highest));
  return false;
}

bool read_tokens(const TraceLine& line,
                 std::string_view column,
                 std::string_view cell,
                 core::Tokens& tokens,
                 std::int64_t lowest) {
  std::int64_t value = 0;
  bool overflow = false;
  std::string_view rest = cell;
  if (take_digits(rest, value, overflow) && !overflow && value >= lowest &&
      value <= kMaxTokensPerRequest) [[likely]] {
    if (rest.empty() || (rest.size() > 1 && rest[0] == '.' &&
                         rest.find_first_not_of('0', 1) == std::string_view::npos)) {
      tokens = core::Tokens(value);
      return true;
    }
  }
  line.problem(column,
               cell,
               cell.empty() ? "an empty cell" : core::quote(cell),
               fmt::format("a whole number of tokens from {} to {}", lowest, kMaxTokensPerRequest));
  return false;
}

bool read_time(const TraceLine& line,
               std::string_view column,
               std::string_view cell,
               const TimeUnit& unit,
               core::Duration& time) {
  std::int64_t ticks = 0;
  const auto note = [&](std::string_view expected) {
    line.problem(column, cell, cell.empty() ? "an empty cell" : core::quote(cell), expected);
    return false;
  };
  switch (parse_ticks(cell, unit.digits, ticks)) {
    case Problem::kNone:
      time = core::Duration::ticks(ticks);
      return true;
    case Problem::kNotANumber:
      return note(fmt::format("a number of {} such as 12.5", unit.name));
    case Problem::kNegative:
      return note(fmt::format("a number of {} that is not negative", unit.name));
    case Problem::kTooLarge:
      return note(fmt::format("at most {} {}", time_text(kLatestArrival, unit), unit.name));
  }
  return false;
}

bool read_seconds(const TraceLine& line,
                  std::string_view column,
                  std::string_view cell,
                  core::Duration& time) {
  return read_time(line, column, cell, kSecondsUnit, time);
}

std::string seconds_text(core::Duration time) {
  return time_text(time, kSecondsUnit);
}

std::string time_text(core::Duration time, const TimeUnit& unit) {
  const int decimals = kTickDecimals - unit.digits;
  const std::int64_t scale = kPowersOfTen[static_cast<std::size_t>(decimals)];
  const std::int64_t whole = time.count() / scale;
  const std::int64_t part = time.count() % scale;
  if (part == 0) {
    return fmt::format("{}", whole);
  }
  std::string text = fmt::format("{}{}.{:0{}}",
                                 time.count() < 0 ? "-" : "",
                                 whole < 0 ? -whole : whole,
                                 part < 0 ? -part : part,
                                 decimals);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

}  // namespace ridgeline::workload
