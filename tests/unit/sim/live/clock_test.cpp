#include "sim/live/clock.hpp"

#include <chrono>

#include <gtest/gtest.h>

#include "core/time.hpp"

namespace ridgeline::live {
namespace {

TEST(ManualClock, ShowsWhatItIsSetTo) {
  ManualClock clock;
  EXPECT_EQ(clock.now(), core::SimTime());
  clock.set(core::SimTime::at(core::Duration::seconds(3)));
  EXPECT_EQ(clock.now(), core::SimTime::at(core::Duration::seconds(3)));
}

TEST(WallClock, NeverGoesBack) {
  WallClock clock(1000.0);
  core::SimTime before = clock.now();
  for (int i = 0; i < 1000; ++i) {
    const core::SimTime now = clock.now();
    EXPECT_LE(before, now);
    before = now;
  }
}

TEST(WallClock, DuesAreAsFarApartAsTheSpeedSays) {
  const WallClock clock(10.0);
  const auto apart =
      clock.due(core::SimTime::at(core::Duration::seconds(20))) - clock.due(core::SimTime());
  EXPECT_EQ(apart, std::chrono::seconds(2));
}

TEST(WallClock, AnInstantHasPassedWhenItIsDue) {
  WallClock clock(1.0);
  const core::SimTime soon = clock.now() + core::Duration::milliseconds(2);
  while (wall_now() < clock.due(soon)) {
  }
  EXPECT_GT(clock.now(), soon);
  EXPECT_EQ(clock.jumps(), 0);
}

TEST(WallClock, TellsWhenAMomentWas) {
  WallClock clock(1000.0);
  const WallClock::Wall then = wall_now();
  const core::SimTime before = clock.now();
  while (wall_now() < then + std::chrono::milliseconds(1)) {
  }
  EXPECT_LE(clock.at(then), before);
  EXPECT_GE(clock.now() - clock.at(then), core::Duration::seconds(1));
  const core::SimTime later = clock.at(wall_now() + std::chrono::hours(1));
  EXPECT_LE(later, clock.now());
  EXPECT_EQ(clock.at(then - std::chrono::hours(1)), core::SimTime());
}

TEST(WallClock, NeverIsFar) {
  const WallClock clock(1.0);
  EXPECT_GT(clock.due(core::SimTime::never()), wall_now() + std::chrono::hours(1000));
}

TEST(WallClock, StandsStillWhilePaused) {
  WallClock clock(1000.0);
  clock.pause();
  const core::SimTime held = clock.now();
  const auto end = wall_now() + std::chrono::milliseconds(3);
  while (wall_now() < end) {
  }
  EXPECT_EQ(clock.now(), held);
  EXPECT_GT(clock.due(held), wall_now() + std::chrono::hours(1000));
  clock.resume();
  // Three seconds of simulated time did not pass.
  EXPECT_LT(clock.now() - held, core::Duration::seconds(2));
  EXPECT_GE(clock.now(), held);
}

TEST(UnixSeconds, AreOfThisCentury) {
  EXPECT_GT(unix_seconds(), 1.6e9);
}

}  // namespace
}  // namespace ridgeline::live
