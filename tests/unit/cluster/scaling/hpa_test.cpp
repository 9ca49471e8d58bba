#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "cluster/scaling/metric.hpp"
#include "cluster/scaling/policies/policies.hpp"
#include "cluster/scaling/registry.hpp"
#include "cluster/scaling/scaler.hpp"
#include "core/time.hpp"
#include "readings.hpp"

namespace ridgeline::scaling {
namespace {

ScalerSettings ten_running() {
  ScalerSettings settings = settings_of("hpa");
  settings.metric = Metric::kRunning;
  settings.target = 10.0;
  return settings;
}

/// A load of so many running requests, spread evenly; what the pool has after so many decisions.
std::int64_t settled(Scaler& hpa, std::int64_t replicas, std::int64_t load, int decisions) {
  UniformPool pool;
  for (int i = 1; i <= decisions; ++i) {
    pool.replicas = replicas;
    pool.ready = replicas;
    // In hundredths of a request, so that the load is spread evenly.
    pool.each.kv_usage = static_cast<double>(load) / static_cast<double>(replicas);
    replicas = pool.decide(hpa, second(15L * i)).replicas;
  }
  return replicas;
}

/// n = ceil(load / target), from below and from above, unless what there is lies within 10 %.
TEST(Hpa, SettlesAtLoadOverTarget) {
  ScalerSettings settings = ten_running();
  settings.metric = Metric::kKvUsage;
  for (std::int64_t load = 1; load < 400; load += 7) {
    for (const std::int64_t start : {1, 3, 40}) {
      const auto hpa = make_hpa(settings);
      const auto ideal = static_cast<std::int64_t>(std::ceil(static_cast<double>(load) / 10.0));
      const std::int64_t found = settled(*hpa, start, load, 60);  // 15 minutes.
      const double ratio = static_cast<double>(load) / static_cast<double>(found) / 10.0;
      EXPECT_TRUE(found == ideal || std::abs(ratio - 1.0) <= 0.1)
          << load << " from " << start << ": " << found;
    }
  }
}

TEST(Hpa, LeavesWhatIsWithinATenth) {
  ScalerSettings settings = ten_running();
  settings.target = 100.0;
  const auto hpa = make_hpa(settings);
  UniformPool pool{.replicas = 10, .ready = 10, .each = {.running = 109}};
  EXPECT_EQ(pool.decide(*hpa, second(15)).replicas, 10);
  pool.each.running = 91;
  EXPECT_EQ(pool.decide(*hpa, second(600)).replicas, 10);
  pool.each.running = 120;
  EXPECT_EQ(pool.decide(*hpa, second(1200)).replicas, 12);
}

TEST(Hpa, GrowsByFourOrTwofoldAndShrinksAfterFiveMinutes) {
  const auto hpa = make_hpa(ten_running());
  UniformPool pool{.replicas = 1, .ready = 1, .each = {.running = 1000}};
  EXPECT_EQ(pool.decide(*hpa, second(15)).replicas, 5);
  pool = {.replicas = 20, .ready = 20, .each = {.running = 1000}};
  EXPECT_EQ(pool.decide(*hpa, second(30)).replicas, 40);
  pool = {.replicas = 40, .ready = 40, .each = {.running = 1}};
  EXPECT_EQ(pool.decide(*hpa, second(45)).replicas, 40);
  EXPECT_EQ(pool.decide(*hpa, second(315)).replicas, 40);  // It wanted 1000 at 30 s.
  EXPECT_EQ(pool.decide(*hpa, second(330)).replicas, 4);
}

TEST(Hpa, ReplicasWithoutMetricsHoldItBackEitherWay) {
  const auto hpa = make_hpa(ten_running());
  // Two at 30 would be 6; the four on their way count as idle: 60 over 6 is on target.
  UniformPool pool{.replicas = 6, .ready = 2, .each = {.running = 30}};
  EXPECT_EQ(pool.decide(*hpa, second(15)).replicas, 6);
  // Two at 5: the other two count as on target, (10 + 20) / 10 = 3 of 4.
  pool = {.replicas = 4, .ready = 2, .each = {.running = 5}};
  const auto calm = make_hpa(ten_running());
  EXPECT_EQ(pool.decide(*calm, second(15)).replicas, 4);
  EXPECT_EQ(pool.decide(*calm, second(400)).replicas, 3);
}

TEST(Hpa, DecidesEveryFifteenSeconds) {
  const auto hpa = make_hpa(ten_running());
  EXPECT_EQ(hpa->next_decision(second(0)), second(15));
  EXPECT_EQ(hpa->next_decision(second(16)), second(30));
}

/// As of a metric of type Object: all replicas together have one.
TEST(Hpa, ScalesALatencyByItsRatio) {
  ScalerSettings settings = settings_of("hpa");
  settings.metric = Metric::kTtft;
  settings.target = 0.5;
  settings.stabilization_window = core::Duration();
  const auto hpa = make_hpa(settings);
  UniformPool pool{.replicas = 4, .ready = 4};
  EXPECT_EQ(pool.decide(*hpa, second(15)).replicas, 4);  // No request has ended.
  pool.latency = 0.54;
  EXPECT_EQ(pool.decide(*hpa, second(30)).replicas, 4);  // Within the tolerance.
  pool.latency = 0.8;
  EXPECT_EQ(pool.decide(*hpa, second(45)).replicas, 7);  // 4 * 1.6, rounded up.
  pool.replicas = 7;  // Three start: by the four that are ready there are enough.
  EXPECT_EQ(pool.decide(*hpa, second(60)).replicas, 7);
  pool.ready = 7;
  pool.latency = 0.2;
  EXPECT_EQ(pool.decide(*hpa, second(75)).replicas, 3);
}

}  // namespace
}  // namespace ridgeline::scaling
