#pragma once

#include <chrono>
#include <cstdint>

#include "core/time.hpp"

namespace ridgeline::observe {

/// The wall clock of a measurement, as the time since its start: the same type as the times of the
/// workload that is sent, in whole nanoseconds. Never goes back.
class RunClock {
 public:
  RunClock() : start_(std::chrono::steady_clock::now()) {}

  [[nodiscard]] core::SimTime now() const {
    return core::SimTime::at(core::Duration::ticks(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_).count() *
        kTicksPerNanosecond));
  }
  /// The instant in nanoseconds of CLOCK_MONOTONIC, which is what Linux timers take.
  [[nodiscard]] std::int64_t monotonic_ns(core::SimTime time) const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(start_.time_since_epoch()).count() +
           time.count() / kTicksPerNanosecond;
  }
  /// The instant as conditions are waited for.
  [[nodiscard]] std::chrono::steady_clock::time_point steady(core::SimTime time) const {
    return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(monotonic_ns(time)));
  }
  /// Seconds since 1970 at this moment, for records that people read.
  [[nodiscard]] static std::int64_t unix_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::int64_t kTicksPerNanosecond = 1000;

  Clock::time_point start_;
};

}  // namespace ridgeline::observe
