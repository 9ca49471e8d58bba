#include "workload/traces/reading/json_records.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/parse.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/limits.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/json_cursor.hpp"

namespace ridgeline::workload {
namespace {

/// Objects within each other, as deep as any of these files goes.
constexpr int kDeepestRecord = 16;

}  // namespace

bool JsonRecord::read(JsonCursor& json) {
  values_.clear();
  place_ = json.rest().substr(0, 1);
  return add(json, {}, 0);
}

bool JsonRecord::read_under(JsonCursor& json, const std::string& path) {
  place_ = json.rest().substr(0, 1);
  return add(json, path, 0);
}

bool JsonRecord::add(JsonCursor& json, const std::string& path, int depth) {
  const char kind = json.kind();
  if (kind == '0' || kind == '"') {
    std::string_view text;
    if (!json.scalar({}, text)) {
      return false;
    }
    values_.emplace(path, text);
    return true;
  }
  if (kind == 't') {
    values_.emplace(path, "true");
    return json.skip();
  }
  if (depth == kDeepestRecord || (kind != '{' && kind != '[')) {
    return json.skip();
  }
  if (kind == '[') {
    return add_list(json, path, depth);
  }
  std::string_view key;
  for (json.enter('{'); json.next_key(key);) {
    std::string below = path;
    below += path.empty() ? "" : ".";
    below += key;
    if (!add(json, below, depth + 1)) {
      return false;
    }
  }
  return json.sound();
}

bool JsonRecord::add_list(JsonCursor& json, const std::string& path, int depth) {
  for (json.enter('['); json.next_item();) {
    if (json.kind() != '{') {
      if (!json.skip()) {
        return false;
      }
      continue;
    }
    JsonRecord pair;
    if (!pair.add(json, {}, depth + 1)) {
      return false;
    }
    const auto key = pair.find({"key"});
    const auto value = pair.find({"value",
                                  "value.stringValue",
                                  "value.intValue",
                                  "value.doubleValue",
                                  "value.string_value",
                                  "value.int_value"});
    if (key && value) {
      values_.emplace(fmt::format("{}.{}", path, *key), *value);
    }
  }
  return json.sound();
}

std::optional<std::string_view> JsonRecord::find(
    std::initializer_list<std::string_view> paths) const {
  for (const std::string_view path : paths) {
    if (const auto found = values_.find(path); found != values_.end()) {
      return found->second;
    }
  }
  return std::nullopt;
}

bool JsonRecord::tokens(const TraceLine& line,
                        std::initializer_list<std::string_view> paths,
                        core::Tokens& value,
                        std::int64_t lowest) const {
  const auto text = find(paths);
  return text && read_tokens(line, *paths.begin(), *text, value, lowest);
}

bool JsonRecord::seconds(const TraceLine& line,
                         std::initializer_list<std::string_view> paths,
                         core::Duration& value) const {
  const auto text = find(paths);
  return text && read_seconds(line, *paths.begin(), *text, value);
}

bool EpochClock::read(const TraceLine& line,
                      std::string_view column,
                      std::string_view text,
                      const TimeUnit& unit,
                      core::Duration& since_first) {
  // Whole units and what is behind the point apart: an epoch in picoseconds leaves int64.
  const std::size_t point = text.find('.');
  const std::string_view whole_text = text.substr(0, point);
  std::int64_t per_second = 1;
  for (int i = 0; i < unit.digits; ++i) {
    per_second *= 10;
  }
  const std::int64_t whole = core::parse_whole<std::int64_t>(whole_text).value_or(-1);
  if (whole < 0) {
    line.problem(column, text, core::quote(text), fmt::format("a number of {}", unit.name));
    return false;
  }
  core::Duration part;
  const std::string fraction = fmt::format(
      "{}{}", whole % per_second, point == std::string_view::npos ? "" : text.substr(point));
  core::Errors unseen;
  const std::string no_file;
  if (!read_time(TraceLine(fraction, no_file, 1, unseen), column, fraction, unit, part)) {
    line.problem(column, text, core::quote(text), fmt::format("a number of {}", unit.name));
    return false;
  }
  const std::int64_t second = whole / per_second;
  if (!first_second_) {
    first_second_ = second;
  }
  const std::int64_t limit = kLatestArrival.count() / core::Duration::kTicksPerSecond - 2;
  const std::int64_t since = second - *first_second_;
  if (since < -limit || since > limit) {
    line.problem(
        column, text, core::quote(text), fmt::format("a time at most {} s from the first", limit));
    return false;
  }
  since_first = core::Duration::seconds(since) + part;
  return true;
}

}  // namespace ridgeline::workload
