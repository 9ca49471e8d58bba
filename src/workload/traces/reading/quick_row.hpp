#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/item.hpp"
#include "workload/limits.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/quick_number.hpp"

namespace ridgeline::workload {

/// What a value of a row means, where that is read the same way in every format.
enum class QuickKind : std::uint8_t {
  kOther,
  kArrival,
  kInputTokens,
  kOutputTokens,
  kBlockIds,  ///< A JSON list of hash ids, as mooncake.hpp's read_hash_ids.
  kClock,     ///< A cell of CSV with an arrival as a clock shows it (trace_clock.hpp).
};

/// A value with its kind, and the unit of an arrival.
struct QuickValue {
  QuickKind kind = QuickKind::kOther;
  TimeUnit unit = kSecondsUnit;
};

/// Picoseconds of 10^-(12-i) s, and the most of them that a time may hold.
struct TickScale {
  std::int64_t ticks = 1;
  std::int64_t most = 0;
};
/// The decimals of a picosecond.
inline constexpr int kQuickTickDecimals = 12;
inline constexpr auto kTickScales = [] {
  std::array<TickScale, kQuickTickDecimals + 1> scales{};
  std::int64_t ticks = 1;
  for (auto& scale : scales) {
    scale = {.ticks = ticks, .most = kLatestArrival.count() / ticks};
    ticks *= 10;
  }
  return scales;
}();

/// The time of whole units of 10^-`unit_digits` s and decimals of one; false where it is out of
/// range or finer than a picosecond.
[[nodiscard, gnu::always_inline]] inline bool quick_ticks(int unit_digits,
                                                          std::int64_t whole,
                                                          std::int64_t decimals,
                                                          std::size_t decimal_count,
                                                          core::Duration& time) {
  const int shift = kQuickTickDecimals - unit_digits;
  const int decimal_shift = shift - static_cast<int>(decimal_count);
  const TickScale& scale = kTickScales[static_cast<std::size_t>(shift)];
  if (decimal_shift < 0 || whole >= scale.most) [[unlikely]] {
    return false;
  }
  time = core::Duration::ticks(
      whole * scale.ticks + decimals * kTickScales[static_cast<std::size_t>(decimal_shift)].ticks);
  return true;
}

/// Reads an arrival in units of 10^-`unit_digits` s; as read_quick().
[[nodiscard, gnu::always_inline]] inline const char* read_quick_arrival(const char* at,
                                                                        int unit_digits,
                                                                        core::Duration& time) {
  const QuickNumber number = quick_number(at);
  const int shift = kQuickTickDecimals - unit_digits - number.decimals;
  // Finer than a picosecond has to be rounded.
  if (number.size == 0 || shift < 0) [[unlikely]] {
    return nullptr;
  }
  const TickScale& scale = kTickScales[static_cast<std::size_t>(shift)];
  if (number.digits > scale.most) [[unlikely]] {
    return nullptr;
  }
  time = core::Duration::ticks(number.digits * scale.ticks);
  return at + number.size;
}

/// Reads a number of tokens, from one on; as read_quick().
[[nodiscard, gnu::always_inline]] inline const char* read_quick_count(const char* at,
                                                                      core::Tokens& tokens) {
  const std::int64_t count = quick_count(at);
  if (count < 1) [[unlikely]] {
    return nullptr;
  }
  static_assert(kMaxTokensPerRequest >= 9'999'999, "seven digits are in range");
  tokens = core::Tokens(count);
  return at;
}

/// Reads a value that starts at `at` into `row`; returns where it ends, or null where it is not of
/// the usual form, in range, and wholly before `end`. kQuickSlack bytes behind `end` are readable.
/// Values of kinds kOther and kClock are for others to read.
[[nodiscard]] const char* read_quick(const QuickValue& value,
                                     const char* at,
                                     const char* end,
                                     Item& row);

}  // namespace ridgeline::workload
