#pragma once

#include <compare>

#include "core/int128.hpp"
#include "core/time.hpp"

namespace ridgeline::core {

/// A sum of durations over many instances or requests, which may be longer than any run: exact.
class TimeSum {
 public:
  constexpr TimeSum() = default;
  constexpr TimeSum(Duration one) : ticks_(one.count()) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] constexpr Int128 count() const { return ticks_; }
  [[nodiscard]] constexpr double to_seconds() const {
    return static_cast<double>(ticks_) / static_cast<double>(Duration::kTicksPerSecond);
  }
  [[nodiscard]] constexpr double to_milliseconds() const {
    return static_cast<double>(ticks_) / 1e9;
  }

  friend constexpr auto operator<=>(TimeSum, TimeSum) = default;
  friend constexpr bool operator==(TimeSum, TimeSum) = default;
  constexpr TimeSum& operator+=(TimeSum other) {
    ticks_ += other.ticks_;
    return *this;
  }
  friend constexpr TimeSum operator+(TimeSum a, TimeSum b) { return a += b; }
  friend constexpr TimeSum operator-(TimeSum a, TimeSum b) {
    a.ticks_ -= b.ticks_;
    return a;
  }

 private:
  Int128 ticks_ = 0;
};

}  // namespace ridgeline::core
