#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/check.hpp"
#include "core/units.hpp"

namespace ridgeline::core {

/// A length of simulated time: an integer count of picoseconds, so that sums are exact in any
/// order. The range of int64 is 106 days: builds with assertions check every sum, difference and
/// product; the others rely on SimTime::last(), which both engines check for every batch.
class Duration {
 public:
  static constexpr std::int64_t kTicksPerSecond = 1'000'000'000'000;

  constexpr Duration() = default;
  static constexpr Duration ticks(std::int64_t count) { return Duration(count); }
  static constexpr Duration max() { return Duration(std::numeric_limits<std::int64_t>::max()); }

  /// The one place where a real number becomes simulated time: finite, not negative, in range;
  /// rounds half away from zero. Nothing otherwise.
  static constexpr std::optional<Duration> from_seconds(double seconds) {
    constexpr double kLimit = 9.2e6;  // seconds; just below 2^63 picoseconds
    if (!(seconds >= 0.0) || seconds > kLimit) {
      return std::nullopt;
    }
    // Not floor(x + 0.5): from 2^52 on that sum is itself rounded, and odd counts would move.
    const double exact = seconds * static_cast<double>(kTicksPerSecond);
    const auto whole = static_cast<std::int64_t>(exact);
    return Duration(whole + (exact - static_cast<double>(whole) >= 0.5 ? 1 : 0));
  }
  /// For formulas whose result is known to be finite and not negative; anything else becomes zero
  /// or max().
  static constexpr Duration saturating(Seconds seconds) {
    if (const auto exact = from_seconds(seconds.value())) {
      return *exact;
    }
    return seconds.value() > 0.0 ? max() : Duration();
  }
  static constexpr Duration microseconds(std::int64_t count) { return Duration(count * 1'000'000); }
  static constexpr Duration milliseconds(std::int64_t count) {
    return Duration(count * 1'000'000'000);
  }
  static constexpr Duration seconds(std::int64_t count) {
    return Duration(count * kTicksPerSecond);
  }

  [[nodiscard]] constexpr std::int64_t count() const { return ticks_; }
  /// Divided, not multiplied by 1e-12, which is no double: 400 us are 0.0004 s, the number that a
  /// person would write.
  [[nodiscard]] constexpr double to_seconds() const {
    return static_cast<double>(ticks_) / static_cast<double>(kTicksPerSecond);
  }
  [[nodiscard]] constexpr double to_milliseconds() const {
    return static_cast<double>(ticks_) / 1e9;
  }
  [[nodiscard]] constexpr double to_microseconds() const {
    return static_cast<double>(ticks_) / 1e6;
  }

  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr bool operator==(Duration, Duration) = default;
  constexpr Duration& operator+=(Duration other) { return *this = *this + other; }
  constexpr Duration& operator-=(Duration other) { return *this = *this - other; }
  friend constexpr Duration operator+(Duration a, Duration b) {
    [[maybe_unused]] std::int64_t sum = 0;
    RIDGELINE_DCHECK(!__builtin_add_overflow(a.ticks_, b.ticks_, &sum), kOutOfRange);
    return Duration(a.ticks_ + b.ticks_);
  }
  friend constexpr Duration operator-(Duration a, Duration b) {
    [[maybe_unused]] std::int64_t difference = 0;
    RIDGELINE_DCHECK(!__builtin_sub_overflow(a.ticks_, b.ticks_, &difference), kOutOfRange);
    return Duration(a.ticks_ - b.ticks_);
  }
  friend constexpr Duration operator*(Duration a, std::int64_t n) {
    [[maybe_unused]] std::int64_t product = 0;
    RIDGELINE_DCHECK(!__builtin_mul_overflow(a.ticks_, n, &product), kOutOfRange);
    return Duration(a.ticks_ * n);
  }
  friend constexpr Duration operator*(std::int64_t n, Duration a) { return a * n; }

  /// For sums that may leave the range: max() instead. Nothing is negative here.
  static constexpr Duration saturating_sum(Duration a, Duration b) {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a.ticks_, b.ticks_, &sum) ? max() : Duration(sum);
  }
  static constexpr Duration saturating_product(Duration a, std::int64_t n) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(a.ticks_, n, &product) ? max() : Duration(product);
  }

 private:
  static constexpr const char* kOutOfRange = "simulated time leaves the range of int64";

  constexpr explicit Duration(std::int64_t ticks) : ticks_(ticks) {}
  std::int64_t ticks_ = 0;
};

/// An instant of simulated time, counted from the start of the run. Instants subtract, they never
/// add.
class SimTime {
 public:
  constexpr SimTime() = default;
  static constexpr SimTime at(Duration since_start) { return SimTime(since_start); }
  /// The latest instant that a run may reach: what Duration::from_seconds takes.
  static constexpr SimTime last() { return SimTime(Duration::seconds(9'200'000)); }
  /// Later than everything.
  static constexpr SimTime never() { return SimTime(Duration::max()); }

  [[nodiscard]] constexpr Duration since_start() const { return since_start_; }
  [[nodiscard]] constexpr std::int64_t count() const { return since_start_.count(); }
  [[nodiscard]] constexpr double to_seconds() const { return since_start_.to_seconds(); }

  friend constexpr auto operator<=>(SimTime, SimTime) = default;
  friend constexpr bool operator==(SimTime, SimTime) = default;
  /// As Duration::saturating_sum: never() past the range.
  static constexpr SimTime saturating_sum(SimTime t, Duration d) {
    return SimTime(Duration::saturating_sum(t.since_start_, d));
  }
  friend constexpr SimTime operator+(SimTime t, Duration d) { return SimTime(t.since_start_ + d); }
  friend constexpr SimTime operator-(SimTime t, Duration d) { return SimTime(t.since_start_ - d); }
  friend constexpr Duration operator-(SimTime a, SimTime b) {
    return a.since_start_ - b.since_start_;
  }
  constexpr SimTime& operator+=(Duration d) {
    since_start_ += d;
    return *this;
  }

 private:
  constexpr explicit SimTime(Duration since_start) : since_start_(since_start) {}
  Duration since_start_;
};

}  // namespace ridgeline::core
