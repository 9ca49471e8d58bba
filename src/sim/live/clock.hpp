#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "core/time.hpp"

namespace ridgeline::live {

/// Where a session gets the time from. Never goes back.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;
  [[nodiscard]] virtual core::SimTime now() = 0;
};

/// Simulated time that runs with the machine's: simulated t is due at start + t / speed.
class WallClock final : public Clock {
 public:
  using Wall = std::chrono::steady_clock::time_point;

  /// Simulated zero is now. Requires speed > 0.
  explicit WallClock(double speed);

  /// Now, in simulated time. Where more than kJump of wall time has passed since the last call, the
  /// process stood still: simulated time goes on from where it was.
  [[nodiscard]] core::SimTime now() override;
  /// A moment that has passed, in simulated time: now() while it stands still.
  [[nodiscard]] core::SimTime at(Wall wall);
  /// When an instant is due; a far one for never().
  [[nodiscard]] Wall due(core::SimTime time) const;
  /// Simulated time stands still until resume(); nothing is due meanwhile. Either may be called
  /// twice.
  void pause();
  void resume();
  [[nodiscard]] bool is_paused() const { return held_.has_value(); }
  [[nodiscard]] double speed() const { return speed_; }
  /// How often simulated time was held because the process stood still.
  [[nodiscard]] std::int64_t jumps() const { return jumps_; }

  /// Longer than any wait of a server that ticks every 100 ms.
  static constexpr std::chrono::milliseconds kJump{1000};

 private:
  [[nodiscard]] core::SimTime passed_at(Wall wall) const;

  double speed_;
  Wall start_;
  Wall last_;
  std::int64_t jumps_ = 0;
  std::optional<core::SimTime> held_;  ///< The time at which it stands still.
};

/// The machine's steady time, for time-outs.
[[nodiscard]] WallClock::Wall wall_now();
/// Seconds since 1970.
[[nodiscard]] double unix_seconds();

/// A clock for tests: it shows what it is set to.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] core::SimTime now() override { return now_; }
  /// Requires a time not before now().
  void set(core::SimTime now) { now_ = now; }

 private:
  core::SimTime now_;
};

}  // namespace ridgeline::live
