#include "workload/traces/fields.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
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

enum class Problem : std::uint8_t { kNone, kNotANumber, kNegative, kTooFine, kTooLarge };

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

Problem parse_decimal(std::string_view text, Decimal& decimal) {
  const bool negative = text.starts_with('-');
  if (negative) {
    text.remove_prefix(1);
  }
  bool overflow = false;
  if (!take_digits(text, decimal.digits, overflow)) {
    return Problem::kNotANumber;
  }
  const bool too_large = overflow;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    const std::size_t before = text.size();
    if (!take_digits(text, decimal.digits, overflow)) {
      return Problem::kNotANumber;
    }
    decimal.exponent = -static_cast<int>(std::min<std::size_t>(before - text.size(), 1'000'000));
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
  if (overflow) {
    return too_large ? Problem::kTooLarge : Problem::kTooFine;
  }
  return Problem::kNone;
}

Problem parse_ticks(std::string_view text, std::int64_t& ticks) {
  Decimal decimal;
  if (const Problem problem = parse_decimal(text, decimal); problem != Problem::kNone) {
    return problem;
  }
  const int shift = kTickDecimals + decimal.exponent;
  constexpr auto kLargestShift = static_cast<int>(kPowersOfTen.size()) - 1;
  if (decimal.digits == 0) {
    ticks = 0;
    return Problem::kNone;
  }
  if (shift < 0) {
    if (-shift > kLargestShift ||
        decimal.digits % kPowersOfTen[static_cast<std::size_t>(-shift)] != 0) {
      return Problem::kTooFine;
    }
    ticks = decimal.digits / kPowersOfTen[static_cast<std::size_t>(-shift)];
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

void TraceLine::problem(std::string_view column,
                        std::size_t at,
                        std::string_view found,
                        std::string_view expected,
                        std::string hint) const {
  if (errors_->size() >= kMaxTraceProblems) {
    return;
  }
  constexpr std::int64_t kLargest = std::numeric_limits<int>::max();
  errors_->push_back(
      {.code = core::ErrorCode::kUsage,
       .field = std::string(column),
       .message = fmt::format("found {}, expected {}", found, expected),
       .where = {.file = *file_,
                 .line = static_cast<int>(std::min(number_, kLargest)),
                 .column = static_cast<int>(std::min(static_cast<std::int64_t>(at) + 1, kLargest))},
       .hint = std::move(hint)});
}

void TraceLine::problem(std::string_view column,
                        std::string_view piece,
                        std::string_view found,
                        std::string_view expected,
                        std::string hint) const {
  problem(column,
          static_cast<std::size_t>(piece.data() - text_.data()),
          found,
          expected,
          std::move(hint));
}

bool read_tokens(const TraceLine& line,
                 std::string_view column,
                 std::string_view cell,
                 core::Tokens& tokens) {
  std::int64_t value = 0;
  bool overflow = false;
  std::string_view rest = cell;
  if (take_digits(rest, value, overflow) && rest.empty() && !overflow && value >= 1 &&
      value <= kMaxTokensPerRequest) [[likely]] {
    tokens = core::Tokens(value);
    return true;
  }
  line.problem(column,
               cell,
               cell.empty() ? "an empty cell" : core::quote(cell),
               fmt::format("a whole number of tokens from 1 to {}", kMaxTokensPerRequest));
  return false;
}

bool read_seconds(const TraceLine& line,
                  std::string_view column,
                  std::string_view cell,
                  core::Duration& time) {
  std::int64_t ticks = 0;
  const Problem problem = parse_ticks(cell, ticks);
  switch (problem) {
    case Problem::kNone:
      time = core::Duration::ticks(ticks);
      return true;
    case Problem::kNotANumber:
      line.problem(column,
                   cell,
                   cell.empty() ? "an empty cell" : core::quote(cell),
                   "a number of seconds such as 12.5");
      return false;
    case Problem::kNegative:
      line.problem(column, cell, core::quote(cell), "a number of seconds that is not negative");
      return false;
    case Problem::kTooFine:
      line.problem(column,
                   cell,
                   core::quote(cell),
                   "at most 12 decimals",
                   "simulated time counts picoseconds; round to 12 decimals");
      return false;
    case Problem::kTooLarge:
      line.problem(column,
                   cell,
                   core::quote(cell),
                   fmt::format("at most {} seconds", seconds_text(kLatestArrival)));
      return false;
  }
  return false;
}

std::string seconds_text(core::Duration time) {
  const std::int64_t whole = time.count() / core::Duration::kTicksPerSecond;
  const std::int64_t part = time.count() % core::Duration::kTicksPerSecond;
  if (part == 0) {
    return fmt::format("{}", whole);
  }
  std::string text = fmt::format("{}{}.{:012}",
                                 time.count() < 0 ? "-" : "",
                                 whole < 0 ? -whole : whole,
                                 part < 0 ? -part : part);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

}  // namespace ridgeline::workload
