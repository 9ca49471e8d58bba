#include <gtest/gtest.h>

#include "cluster/scaling/metric.hpp"
#include "cluster/scaling/policies/policies.hpp"
#include "cluster/scaling/registry.hpp"
#include "readings.hpp"

namespace ridgeline::scaling {
namespace {

TEST(Keda, LetsTheLastReplicaGoAfterTheCooldownAndWakesAtAPoll) {
  ScalerSettings settings = settings_of("keda");
  settings.metric = Metric::kRunning;
  settings.target = 10.0;
  const auto keda = make_keda(settings);
  UniformPool pool{.min_replicas = 0, .each = {.running = 1}};
  EXPECT_EQ(pool.decide(*keda, second(60)).replicas, 1);
  pool.each.running = 0;
  EXPECT_EQ(pool.decide(*keda, second(330)).replicas, 1);
  EXPECT_EQ(pool.decide(*keda, second(345)).replicas, 1);  // Not at a poll.
  EXPECT_EQ(pool.decide(*keda, second(360)).replicas, 0);
  pool = {.replicas = 0, .ready = 0, .min_replicas = 0, .held = 3};
  EXPECT_EQ(pool.decide(*keda, second(375)).replicas, 0);
  EXPECT_EQ(pool.decide(*keda, second(390)).replicas, 1);
}

TEST(Keda, KeepsOneWhereTheMinimumSaysSo) {
  const auto keda = make_keda(settings_of("keda"));
  const UniformPool pool;
  EXPECT_EQ(pool.decide(*keda, second(6000)).replicas, 1);
}

}  // namespace
}  // namespace ridgeline::scaling
