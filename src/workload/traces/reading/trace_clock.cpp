#include "workload/traces/reading/trace_clock.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/text.hpp"
#include "core/time.hpp"
#include "workload/limits.hpp"
#include "workload/traces/reading/fields.hpp"

namespace ridgeline::workload {
namespace {

constexpr std::string_view kTimestampForm = "YYYY-MM-DD HH:MM:SS.fffffff";
constexpr std::size_t kLengthToSeconds = std::string_view("YYYY-MM-DD HH:MM:SS").size();
constexpr std::size_t kTickDecimals12 = 12;
constexpr std::int64_t kSecondsPerDay = 86'400;

/// The value of text[at, at + count), or -1 when one of them is not a digit.
int digits(std::string_view text, std::size_t at, std::size_t count) {
  int value = 0;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') {
      return -1;
    }
    value = value * 10 + (c - '0');
  }
  return value;
}

/// Takes ".fff" from the front of `text`, in picoseconds; -1 for a point without digits.
std::int64_t take_fraction(std::string_view& text) {
  if (!text.starts_with('.')) {
    return 0;
  }
  std::size_t end = 1;
  std::int64_t ticks = 0;
  bool up = false;
  for (; end < text.size() && text[end] >= '0' && text[end] <= '9'; ++end) {
    if (end <= kTickDecimals12) {
      ticks = ticks * 10 + (text[end] - '0');
    } else if (end == kTickDecimals12 + 1) {
      up = text[end] >= '5';
    }
  }
  if (end == 1) {
    return -1;
  }
  for (std::size_t i = end; i <= kTickDecimals12; ++i) {
    ticks *= 10;
  }
  text.remove_prefix(end);
  return ticks + (up ? 1 : 0);
}

/// Seconds east of UTC, or nothing for what is no zone.
std::optional<std::int64_t> parse_zone(std::string_view text) {
  if (text.empty() || text == "Z" || text == " UTC") {
    return 0;
  }
  if ((text[0] != '+' && text[0] != '-') || text.size() < 5) {
    return std::nullopt;
  }
  const bool colon = text.size() == 6 && text[3] == ':';
  if (!colon && text.size() != 5) {
    return std::nullopt;
  }
  const int hours = digits(text, 1, 2);
  const int minutes = digits(text, colon ? 4 : 3, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) {
    return std::nullopt;
  }
  const std::int64_t seconds = std::int64_t{hours} * 3600 + std::int64_t{minutes} * 60;
  return text[0] == '-' ? -seconds : seconds;
}

/// Days since 1970, or nothing for a day that the calendar lacks.
std::optional<std::int64_t> days_of(int year, int month, int day) {
  if (year < 0 || month < 0 || day < 0) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) {
    return std::nullopt;
  }
  return std::chrono::sys_days(date).time_since_epoch().count();
}

}  // namespace

std::optional<Instant> parse_timestamp(std::string_view text) {
  if (text.size() < kLengthToSeconds || text[4] != '-' || text[7] != '-' ||
      (text[10] != ' ' && text[10] != 'T') || text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  const auto days = days_of(digits(text, 0, 4), digits(text, 5, 2), digits(text, 8, 2));
  const int hour = digits(text, 11, 2);
  const int minute = digits(text, 14, 2);
  const int second = digits(text, 17, 2);
  std::string_view rest = text.substr(kLengthToSeconds);
  const std::int64_t ticks = take_fraction(rest);
  const auto zone = parse_zone(rest);
  if (!days || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 ||
      ticks < 0 || !zone) {
    return std::nullopt;
  }
  return Instant{.seconds = *days * kSecondsPerDay + std::int64_t{hour} * 3600 +
                            std::int64_t{minute} * 60 + second - *zone,
                 .ticks = ticks};
}

bool TraceClock::read(const TraceLine& line,
                      std::string_view column,
                      std::string_view cell,
                      core::Duration& since_first_row) {
  const auto instant = parse_timestamp(cell);
  if (!instant) {
    line.problem(column,
                 cell,
                 cell.empty() ? "an empty cell" : core::quote(cell),
                 fmt::format("a time as {}", kTimestampForm));
    return false;
  }
  return since_first(line, column, cell, *instant, since_first_row);
}

bool TraceClock::since_first(const TraceLine& line,
                             std::string_view column,
                             std::string_view piece,
                             const Instant& instant,
                             core::Duration& time) {
  if (!first_) {
    first_ = instant;
  }
  const std::int64_t seconds = instant.seconds - first_->seconds;
  // One second less leaves room for the fraction.
  const std::int64_t limit = kLatestArrival.count() / core::Duration::kTicksPerSecond - 1;
  if (seconds > limit || seconds < -limit) {
    line.problem(column,
                 piece,
                 core::quote(piece),
                 fmt::format("a time at most {} s from the first row's", limit));
    return false;
  }
  time = core::Duration::seconds(seconds) + core::Duration::ticks(instant.ticks - first_->ticks);
  return true;
}

std::string clock_text(core::Duration time) {
  const std::int64_t whole = time.count() / core::Duration::kTicksPerSecond;
  const std::chrono::sys_days start{std::chrono::year(2000) / std::chrono::January / 1};
  const std::chrono::year_month_day date{start + std::chrono::days(whole / kSecondsPerDay)};
  const std::int64_t second = whole % kSecondsPerDay;
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:012}",
                     static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()),
                     second / 3600,
                     second / 60 % 60,
                     second % 60,
                     time.count() % core::Duration::kTicksPerSecond);
}

}  // namespace ridgeline::workload
