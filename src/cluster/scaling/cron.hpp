#pragma once

#include <bitset>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/time.hpp"

namespace ridgeline::scaling {

/// So many replicas from each minute on that the five fields of a crontab match.
struct CronLine {
  std::bitset<60> minutes = {};
  std::bitset<24> hours = {};
  std::bitset<32> days = {};     ///< Days of the month, from 1.
  std::bitset<13> months = {};   ///< From 1.
  std::bitset<7> weekdays = {};  ///< From Sunday.
  /// Where days and weekdays are both limited, one of them is enough (crontab(5)).
  bool limits_days = false;
  bool limits_weekdays = false;
  std::int64_t replicas = 0;
};

/// Reads "minute hour day month weekday": numbers, "*", "a-b", "*/n" and "a-b/n", with commas
/// between several; weekday 7 is Sunday too. Nothing for anything else.
[[nodiscard]] std::optional<CronLine> cron_line(std::string_view fields, std::int64_t replicas);

/// A minute of a calendar without a time zone: "2026-01-31" or "2026-01-31T09:30".
[[nodiscard]] std::optional<std::chrono::sys_time<std::chrono::minutes>> calendar_minute(
    std::string_view text);

/// When the lines set how many replicas, in order of time, where a run begins at `start` of the
/// calendar: until the last instant that a run may have. Of lines that match one minute the last
/// one counts.
[[nodiscard]] std::vector<std::pair<core::SimTime, std::int64_t>> cron_times(
    const std::vector<CronLine>& lines, std::chrono::sys_time<std::chrono::minutes> start);

}  // namespace ridgeline::scaling
