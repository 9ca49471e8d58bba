#include "scenario/sections/replicas_at.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster/scaling/cron.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "scenario/options.hpp"
#include "scenario/time_value.hpp"

namespace ridgeline::scenario {
namespace {

constexpr const char* kFirstMonday = "2026-01-05T00:00";

core::Error wrong_entry(std::string_view path, const document::Node& item, std::string message) {
  return {.field = std::string(path),
          .message = std::move(message),
          .where = item.where(),
          .hint = "[[0s, 4], [600s, 8]], or --replicas-at 600s=8"};
}

using Entry = ReplicasAt;

/// "600s=8", or [600s, 8].
std::optional<Entry> entry_of(const document::Node& item) {
  std::optional<core::Duration> at;
  std::int64_t replicas = -1;
  if (item.is_string()) {
    const std::string& text = item.as_string();
    const auto equals = text.find('=');
    if (equals == std::string::npos) {
      return std::nullopt;
    }
    at = time_value(text.substr(0, equals));
    replicas = core::parse_whole<std::int64_t>(text.substr(equals + 1)).value_or(-1);
  } else if (item.is_list() && item.items().size() == 2 &&
             item.items()[1].kind() == document::Node::Kind::kInteger) {
    at = time_value(item.items()[0]);
    replicas = item.items()[1].as_integer();
  }
  if (!at || replicas < 0) {
    return std::nullopt;
  }
  return Entry(core::SimTime::at(*at), replicas);
}

/// "0 8 * * 1-5=8".
std::optional<scaling::CronLine> cron_entry(const document::Node& item) {
  if (!item.is_string()) {
    return std::nullopt;
  }
  const std::string& text = item.as_string();
  const auto equals = text.find('=');
  const auto number =
      equals == std::string::npos ? equals : text.find_first_not_of(' ', equals + 1);
  const auto replicas = number == std::string::npos
                            ? std::nullopt
                            : core::parse_whole<std::int64_t>(text.substr(number));
  if (!replicas || *replicas < 0) {
    return std::nullopt;
  }
  return scaling::cron_line(std::string_view(text).substr(0, equals), *replicas);
}

}  // namespace

std::vector<ReplicasAt> read_replicas_at(std::string_view path,
                                         const document::Node& list,
                                         core::Errors& errors) {
  std::vector<ReplicasAt> entries;
  if (!list.is_list()) {
    errors.push_back(
        wrong_entry(path, list, fmt::format("found {}, expected a list", list.describe())));
    return entries;
  }
  for (const document::Node& item : list.items()) {
    const auto entry = entry_of(item);
    if (!entry) {
      errors.push_back(wrong_entry(
          path, item, fmt::format("found {}, expected a time and a number", flow_text(item))));
    } else if (!entries.empty() && entry->first <= entries.back().first) {
      errors.push_back(wrong_entry(
          path, item, fmt::format("{} is not later than the entry before", flow_text(item))));
    } else {
      entries.push_back(*entry);
    }
  }
  return entries;
}

std::vector<ReplicasAt> read_cron(std::string_view path,
                                  const document::Node& list,
                                  const std::optional<std::string>& cron_start,
                                  core::Errors& errors) {
  const std::string begin = cron_start.value_or(kFirstMonday);
  const auto start = scaling::calendar_minute(begin);
  if (!start) {
    errors.push_back({.field = std::string(kCronStartPath),
                      .message = fmt::format("found {}, expected a day, or a day and a time",
                                             core::quote(begin)),
                      .hint = kFirstMonday});
  }
  if (!list.is_list()) {
    errors.push_back({.field = std::string(path),
                      .message = fmt::format("found {}, expected a list of lines", list.describe()),
                      .where = list.where(),
                      .hint = "['0 8 * * 1-5=8']"});
    return {};
  }
  std::vector<scaling::CronLine> lines;
  for (const document::Node& item : list.items()) {
    if (const auto line = cron_entry(item)) {
      lines.push_back(*line);
    } else {
      errors.push_back({.field = std::string(path),
                        .message = fmt::format("found {}, expected five fields of numbers, and how "
                                               "many instances from then on",
                                               flow_text(item)),
                        .where = item.where(),
                        .hint = "minute hour day month weekday=number: 0 8 * * 1-5=8"});
    }
  }
  return start && errors.empty() ? scaling::cron_times(lines, *start) : std::vector<ReplicasAt>();
}

}  // namespace ridgeline::scenario
