#include "sim/live/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "core/check.hpp"
#include "core/time.hpp"

namespace ridgeline::live {
namespace {

using WallTicks = std::chrono::nanoseconds;
constexpr double kTicksPerNanosecond = 1000.0;

}  // namespace

WallClock::WallClock(double speed)
    : speed_(speed), start_(std::chrono::steady_clock::now()), last_(start_) {
  RIDGELINE_CHECK(speed > 0.0, "a clock that stands still");
}

void WallClock::pause() {
  if (!held_) {
    held_ = now();
  }
}

void WallClock::resume() {
  if (held_) {
    const Wall wall = std::chrono::steady_clock::now();
    start_ += wall - last_;
    last_ = wall;
    held_.reset();
  }
}

core::SimTime WallClock::now() {
  if (held_) {
    return *held_;
  }
  const Wall wall = std::chrono::steady_clock::now();
  const Wall::duration passed = wall - last_;
  last_ = wall;
  if (passed > kJump) {
    start_ += passed;
    ++jumps_;
  }
  return passed_at(wall);
}

core::SimTime WallClock::at(Wall wall) {
  const core::SimTime last = now();
  return held_ ? last : std::min(passed_at(std::max(wall, start_)), last);
}

core::SimTime WallClock::passed_at(Wall wall) const {
  const auto elapsed =
      static_cast<double>(std::chrono::duration_cast<WallTicks>(wall - start_).count());
  const double ticks = elapsed * kTicksPerNanosecond * speed_;
  const auto last = static_cast<double>(core::SimTime::last().count());
  return ticks < last ? core::SimTime::at(core::Duration::ticks(static_cast<std::int64_t>(ticks)))
                      : core::SimTime::last();
}

WallClock::Wall WallClock::due(core::SimTime time) const {
  constexpr std::chrono::hours kFar(24 * 365);
  if (held_) {
    return std::chrono::steady_clock::now() + kFar;
  }
  const double nanoseconds = static_cast<double>(time.count()) / (kTicksPerNanosecond * speed_);
  const auto far = static_cast<double>(std::chrono::duration_cast<WallTicks>(kFar).count());
  // One more: never before it is due.
  return start_ + WallTicks(static_cast<std::int64_t>(std::min(nanoseconds, far)) + 1);
}

WallClock::Wall wall_now() {
  return std::chrono::steady_clock::now();
}

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace ridgeline::live
