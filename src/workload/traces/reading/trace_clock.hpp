#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/time.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/quick_four.hpp"

namespace ridgeline::workload {

/// An instant as a file states it: whole seconds since 1970 and picoseconds.
struct Instant {
  std::int64_t seconds = 0;
  std::int64_t ticks = 0;
};

/// "2023-11-16 18:15:46.6805900", with a blank or a T, any number of decimals (those beyond the
/// picosecond are rounded), and Z, an offset such as +02:00, or nothing behind them (UTC).
[[nodiscard]] std::optional<Instant> parse_timestamp(std::string_view text);

/// How the files of 2024 write their zone.
inline constexpr std::string_view kQuickZone = "+00:00";

/// Turns the instants of a trace into times since its first row.
class TraceClock {
 public:
  static constexpr std::int64_t kSecondsPerMinute = 60;

  /// Reads a cell; the first one ever read is time zero. Notes a problem for what is no time and
  /// for what lies beyond the range of simulated time from the first.
  bool read(const TraceLine& line,
            std::string_view column,
            std::string_view cell,
            core::Duration& since_first);
  /// The same for an instant read elsewhere; `piece` is where problems are noted.
  bool since_first(const TraceLine& line,
                   std::string_view column,
                   std::string_view piece,
                   const Instant& instant,
                   core::Duration& time);

  /// The same for a cell in the minute of the cell last read, of a file in UTC; as read_quick().
  [[nodiscard]] const char* quick_read(const char* at, const char* end, core::Duration& time) const;
  /// Finds the seconds of such a cell; returns where the cell ends, or null.
  [[nodiscard, gnu::always_inline]] const char* quick_find(const char* at,
                                                           const char* end,
                                                           QuickTime& seconds) const {
    if (!has_minute_ || end - at < kQuickClockSize ||
        !same_bytes(at, minute_text_.data(), kMinuteSize)) [[unlikely]] {
      return nullptr;
    }
    const char* const second = at + kMinuteSize;
    const char* const last = find_quick_time(second, seconds);
    const auto behind =
        static_cast<std::ptrdiff_t>(seconds.decimal_count) + (seconds.decimal_count > 0 ? 1 : 0);
    if (last == nullptr || last - second != 2 + behind) [[unlikely]] {
      return nullptr;
    }
    return *last != kQuickZone[0]                                   ? last
           : same_bytes(last, kQuickZone.data(), kQuickZone.size()) ? last + kQuickZone.size()
                                                                    : nullptr;
  }
  /// Since the first row, the minute in which quick_find() finds seconds.
  [[nodiscard]] core::Duration minute() const { return minute_; }

 private:
  /// "2023-11-16 18:15:".
  static constexpr std::size_t kMinuteSize = 17;
  static constexpr std::ptrdiff_t kQuickClockSize = 19;  ///< With the seconds.

  void remember_minute(std::string_view cell, const Instant& instant);

  std::optional<Instant> first_;
  /// The minute of the row last read the long way: most rows lie in the same one.
  std::array<char, kMinuteSize> minute_text_{};
  core::Duration minute_;  ///< Since the first row.
  bool has_minute_ = false;
};

/// A time since the start as a clock shows it that started at 2000-01-01 00:00:00, with twelve
/// decimals: for formats that know only instants.
[[nodiscard]] std::string clock_text(core::Duration time);

}  // namespace ridgeline::workload
