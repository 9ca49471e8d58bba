#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/time.hpp"
#include "workload/traces/reading/fields.hpp"

namespace ridgeline::workload {

/// An instant as a file states it: whole seconds since 1970 and picoseconds.
struct Instant {
  std::int64_t seconds = 0;
  std::int64_t ticks = 0;
};

/// "2023-11-16 18:15:46.6805900", with a blank or a T, any number of decimals (those beyond the
/// picosecond are rounded), and Z, an offset such as +02:00, or nothing behind them (UTC).
[[nodiscard]] std::optional<Instant> parse_timestamp(std::string_view text);

/// Turns the instants of a trace into times since its first row.
class TraceClock {
 public:
  /// Reads a cell; the first one ever read is time zero. Notes a problem for what is no time and
  /// for what lies beyond the range of simulated time from the first.
  bool read(const TraceLine& line,
            std::string_view column,
            std::string_view cell,
            core::Duration& since_first);
  /// The time of an instant read elsewhere; `piece` is where problems are noted.
  bool since_first(const TraceLine& line,
                   std::string_view column,
                   std::string_view piece,
                   const Instant& instant,
                   core::Duration& time);

 private:
  std::optional<Instant> first_;
};

/// A time since the start as a clock shows it that started at 2000-01-01 00:00:00, with twelve
/// decimals: for formats that know only instants.
[[nodiscard]] std::string clock_text(core::Duration time);

}  // namespace ridgeline::workload
