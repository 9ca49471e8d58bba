#include "cluster/scaling/cron.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/parse.hpp"
#include "core/time.hpp"

namespace ridgeline::scaling {
namespace {

using std::chrono::minutes;

/// What stands before a separator, which is taken off with it; all where there is none.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t place = text.find(separator);
  const std::string_view first = text.substr(0, place);
  text = place == std::string_view::npos ? std::string_view() : text.substr(place + 1);
  return first;
}

struct Values {
  int lowest = 0;
  int highest = 0;
  int step = 1;
};

/// One of the parts that commas separate.
std::optional<Values> values_of(std::string_view part, int lowest, int highest) {
  const bool has_step = part.find('/') != std::string_view::npos;
  std::string_view range = take_until(part, '/');
  Values values{.lowest = lowest, .highest = highest};
  if (has_step) {
    const auto step = core::parse_whole<int>(part);
    if (!step || *step < 1) {
      return std::nullopt;
    }
    values.step = *step;
  }
  if (range == "*") {
    return values;
  }
  const bool is_range = range.find('-') != std::string_view::npos;
  const auto from = core::parse_whole<int>(take_until(range, '-'));
  const auto to = is_range ? core::parse_whole<int>(range) : from;
  if (!from || !to || *from < lowest || *to > highest || *from > *to || (has_step && !is_range)) {
    return std::nullopt;
  }
  values.lowest = *from;
  values.highest = *to;
  return values;
}

/// One field into a set of values up to `highest`; those of `set` repeat after its size.
template <std::size_t Size>
bool read_field(std::string_view field, int lowest, int highest, std::bitset<Size>& set) {
  if (field.empty() || field.back() == ',') {
    return false;
  }
  while (!field.empty()) {
    const auto values = values_of(take_until(field, ','), lowest, highest);
    if (!values) {
      return false;
    }
    for (int value = values->lowest; value <= values->highest; value += values->step) {
      set.set(static_cast<std::size_t>(value) % Size);
    }
  }
  return true;
}

bool matches(const CronLine& line, std::chrono::sys_days day) {
  const std::chrono::year_month_day date(day);
  const bool is_day = line.days.test(static_cast<unsigned>(date.day()));
  const bool is_weekday = line.weekdays.test(std::chrono::weekday(day).c_encoding());
  const bool both = line.limits_days && line.limits_weekdays;
  return line.months.test(static_cast<unsigned>(date.month())) &&
         (both ? is_day || is_weekday : is_day && is_weekday);
}

}  // namespace

std::optional<CronLine> cron_line(std::string_view fields, std::int64_t replicas) {
  std::vector<std::string_view> words;
  while (!fields.empty()) {
    if (const std::string_view word = take_until(fields, ' '); !word.empty()) {
      words.push_back(word);
    }
  }
  CronLine line{.replicas = replicas};
  if (words.size() != 5 || !read_field(words[0], 0, 59, line.minutes) ||
      !read_field(words[1], 0, 23, line.hours) || !read_field(words[2], 1, 31, line.days) ||
      !read_field(words[3], 1, 12, line.months) || !read_field(words[4], 0, 7, line.weekdays)) {
    return std::nullopt;
  }
  line.limits_days = words[2].front() != '*';
  line.limits_weekdays = words[4].front() != '*';
  return line;
}

std::optional<std::chrono::sys_time<minutes>> calendar_minute(std::string_view text) {
  std::string_view date = take_until(text, 'T');
  const auto year = core::parse_whole<int>(take_until(date, '-'));
  const auto month = core::parse_whole<int>(take_until(date, '-'));
  const auto day = core::parse_whole<int>(date);
  int hour = 0;
  int minute = 0;
  if (!text.empty()) {
    const auto hours = core::parse_whole<int>(take_until(text, ':'));
    const auto rest = core::parse_whole<int>(text);
    if (!hours || !rest || *hours < 0 || *hours > 23 || *rest < 0 || *rest > 59) {
      return std::nullopt;
    }
    hour = *hours;
    minute = *rest;
  }
  constexpr int kFirstYear = 1970;
  constexpr int kLastYear = 9999;
  if (!year || !month || !day || *year < kFirstYear || *year > kLastYear || *month < 1 ||
      *day < 1) {
    return std::nullopt;
  }
  const std::chrono::year_month_day whole(std::chrono::year(*year),
                                          std::chrono::month(static_cast<unsigned>(*month)),
                                          std::chrono::day(static_cast<unsigned>(*day)));
  if (!whole.ok()) {
    return std::nullopt;
  }
  return std::chrono::sys_days(whole) + std::chrono::hours(hour) + minutes(minute);
}

std::vector<std::pair<core::SimTime, std::int64_t>> cron_times(
    const std::vector<CronLine>& lines, std::chrono::sys_time<minutes> start) {
  constexpr std::int64_t kSecondsPerMinute = 60;
  std::vector<std::pair<core::SimTime, std::int64_t>> times;
  const auto last = static_cast<std::int64_t>(core::SimTime::last().since_start().to_seconds());
  for (std::int64_t minute = 0; minute * kSecondsPerMinute < last; ++minute) {
    const auto now = start + minutes(minute);
    const auto day = std::chrono::floor<std::chrono::days>(now);
    const auto of_day = static_cast<std::size_t>((now - day).count());
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
      if (line->minutes.test(of_day % kSecondsPerMinute) &&
          line->hours.test(of_day / kSecondsPerMinute) && matches(*line, day)) {
        times.emplace_back(core::SimTime::at(core::Duration::seconds(minute * kSecondsPerMinute)),
                           line->replicas);
        break;
      }
    }
  }
  return times;
}

}  // namespace ridgeline::scaling
