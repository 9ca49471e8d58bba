#include "cluster/scaling/cold_start.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/scaling/victim.hpp"
#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "readings.hpp"

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

/// Servers' logs (vLLM 0.22, gpt-oss-120b on H200; new-coldstart of the measured runs): seconds.
struct MeasuredStart {
  std::int64_t ranks = 1;
  double host_class = 1.0;
  double weights_gib = 0.0;
  double profile = 0.0;
  double compile = 0.0;
  double capture = 0.0;
  double engine = 0.0;
  double ready = 0.0;  ///< The whole start, without the weights.
};

TEST(ColdStart, ComputedTimesAreNearMeasuredOnes) {
  const std::vector<MeasuredStart> measured = {
      {1, 1.0, 66.14, 16.61, 15.58, 13.0, 48.3, 198.0 - 87.4},
      {1, 1.0, 66.14, 16.68, 15.51, 14.0, 54.81, 126.0 - 10.19},
      {4, 8.0, 4 * 17.22, 50.84, 88.13, 46.0, 195.02, 381.0 - 42.85},
      {8, 8.0, 8 * 8.66, 106.39, 184.08, 102.0, 451.85, 716.0 - 47.39}};
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  for (const MeasuredStart& one : measured) {
    const StartParts parts = start_parts({.weights = core::Bytes(one.weights_gib * kGib),
                                          .layers = 36,
                                          .ranks = one.ranks,
                                          .graph_sizes = 147,
                                          .host_class = one.host_class});
    // On the common host all but a twentieth, on the slow one up to a fifth.
    const double off = one.host_class > 1.0 ? 0.2 : 0.07;
    EXPECT_NEAR(parts.profile.value(), one.profile, off * one.profile);
    EXPECT_NEAR(parts.compile.value(), one.compile, off * one.compile);
    EXPECT_NEAR(parts.capture.value(), one.capture, off * one.capture);
    EXPECT_NEAR(parts.engine().value(), one.engine, off * one.engine);
    EXPECT_NEAR((parts.whole() - parts.weights).value(), one.ready, 0.12 * one.ready);
    EXPECT_NEAR(parts.weights.value(), 36.3, 1.0);  // Measured: 10 to 87.
  }
}

TEST(ColdStart, PhasesAddUpToTheParts) {
  const StartFacts facts{.weights = core::Bytes(2e9), .layers = 10, .ranks = 2, .graph_sizes = 5};
  const ColdStart start = computed_start(facts);
  const double phases = start.load.mean.to_seconds() + start.compile.mean.to_seconds() +
                        start.capture.mean.to_seconds() + start.warm_up.mean.to_seconds();
  EXPECT_NEAR(phases, start_parts(facts).whole().value(), 1e-9);
}

TEST(ColdStart, NothingIsCompiledWithoutGraphs) {
  const ColdStart start = computed_start({.weights = core::Bytes(2e9), .layers = 36});
  EXPECT_EQ(start.compile, StartPhase{});
  EXPECT_EQ(start.capture, StartPhase{});
  EXPECT_EQ(start.load.mean, Duration::seconds(1));
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
