#include "scaling/cold_start.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "readings.hpp"
#include "scaling/victim.hpp"

namespace ridgeline::scaling {
namespace {

using core::Duration;

TEST(ColdStart, ConstantsAddUp) {
  ColdStart start;
  start.schedule.mean = Duration::seconds(3);
  start.pull.mean = Duration::seconds(5);
  start.load.mean = Duration::seconds(70);
  core::RngStream draws(1, 0, "test");
  const StartTimes times = start_times(start, draws);
  EXPECT_EQ(times.pending, Duration::seconds(8));
  EXPECT_EQ(times.loading, Duration::seconds(70));
  EXPECT_EQ(times.warming, Duration::seconds(60));  // 40 s compile, 20 s capture.
  EXPECT_EQ(draws.position(), 0);
}

TEST(ColdStart, DrawsHaveTheirMeanAndDeviation) {
  ColdStart start;
  start.load = {.mean = Duration::seconds(120), .sd = Duration::seconds(30)};
  double sum = 0.0;
  double squares = 0.0;
  constexpr int kStarts = 20'000;
  for (int i = 0; i < kStarts; ++i) {
    core::RngStream draws(1, 0, "test", static_cast<std::uint64_t>(i));
    const double seconds = start_times(start, draws).loading.to_seconds();
    sum += seconds;
    squares += seconds * seconds;
  }
  const double mean = sum / kStarts;
  EXPECT_NEAR(mean, 120.0, 3.0 * 30.0 / std::sqrt(kStarts));
  EXPECT_NEAR(std::sqrt(squares / kStarts - mean * mean), 30.0, 1.0);
}

TEST(Victim, StartingReplicasGoFirstThenByPolicy) {
  const auto one = [](std::uint32_t id, bool ready, std::int64_t created, std::int64_t requests) {
    return VictimCandidate{.id = core::InstanceId(id),
                           .is_ready = ready,
                           .created = second(created),
                           .requests = requests};
  };
  using Candidates = std::vector<VictimCandidate>;
  const Candidates starting = {one(0, true, 5, 0), one(1, false, 1, 9), one(2, true, 9, 0)};
  EXPECT_EQ(victim(starting, VictimPolicy::kNewest), 1);
  const Candidates ready = {one(0, true, 5, 3), one(1, true, 1, 1), one(2, true, 9, 7)};
  EXPECT_EQ(victim(ready, VictimPolicy::kNewest), 2);
  EXPECT_EQ(victim(ready, VictimPolicy::kLeastLoaded), 1);
  const Candidates equal = {one(0, true, 5, 1), one(1, true, 1, 1)};
  EXPECT_EQ(victim(equal, VictimPolicy::kLeastLoaded), 0);
}

}  // namespace
}  // namespace ridgeline::scaling
