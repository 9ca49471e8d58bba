#include <gtest/gtest.h>

#include "cluster/scaling/metric.hpp"
#include "cluster/scaling/policies/policies.hpp"
#include "cluster/scaling/registry.hpp"
#include "core/units.hpp"
#include "readings.hpp"

namespace ridgeline::scaling {
namespace {

TEST(DynamoPlanner, ComparesTokensHeldAndQueuedWithTheCache) {
  const auto planner = make_dynamo_planner(settings_of("dynamo-planner"));
  UniformPool pool{
      .replicas = 2,
      .ready = 2,
      .each = {
          .kv_usage = 0.8, .queued_tokens = core::Tokens(300), .kv_capacity = core::Tokens(1000)}};
  EXPECT_EQ(pool.decide(*planner, second(5)).replicas, 3);  // 1.1 > 1.0
  pool.replicas = 3;
  EXPECT_EQ(pool.decide(*planner, second(10)).replicas, 3);  // One is on its way.
  pool.replicas = 2;
  pool.each.queued_tokens = core::Tokens(100);
  EXPECT_EQ(pool.decide(*planner, second(15)).replicas, 2);
  pool.each.kv_usage = 0.4;
  EXPECT_EQ(pool.decide(*planner, second(20)).replicas, 1);  // 0.5 < 0.6
}

TEST(DynamoPlanner, TheLatencyTargetAddsReplicasEarlier) {
  ScalerSettings settings = settings_of("dynamo-planner");
  settings.optimization_target = OptimizationTarget::kLatency;
  const auto planner = make_dynamo_planner(settings);
  const UniformPool pool{
      .replicas = 2, .ready = 2, .each = {.kv_usage = 0.5, .kv_capacity = core::Tokens(1000)}};
  EXPECT_EQ(pool.decide(*planner, second(5)).replicas, 3);
}

TEST(DynamoPlanner, PrefillInstancesAreHeldAgainstTheirContext) {
  ScalerSettings settings = settings_of("dynamo-planner");
  settings.role = Role::kPrefill;
  const auto throughput = make_dynamo_planner(settings);
  UniformPool pool{.replicas = 2,
                   .ready = 2,
                   .each = {.kv_usage = 0.9,
                            .queued_tokens = core::Tokens(1000),
                            .kv_capacity = core::Tokens(9000),
                            .context = core::Tokens(1000)}};
  EXPECT_EQ(pool.decide(*throughput, second(5)).replicas, 3);  // 1.0 >= 1.0
  pool.each.queued_tokens = core::Tokens(100);
  EXPECT_EQ(pool.decide(*throughput, second(10)).replicas, 2);  // 0.1 is not below 0.1.
  pool.each.queued_tokens = core::Tokens(99);
  EXPECT_EQ(pool.decide(*throughput, second(15)).replicas, 1);
  settings.optimization_target = OptimizationTarget::kLatency;
  const auto latency = make_dynamo_planner(settings);
  EXPECT_EQ(pool.decide(*latency, second(5)).replicas, 2);
  pool.each.queued_tokens = core::Tokens(100);
  EXPECT_EQ(pool.decide(*latency, second(10)).replicas, 3);  // 0.1 >= 0.1
  pool.each.queued_tokens = core::Tokens(0);
  EXPECT_EQ(pool.decide(*latency, second(15)).replicas, 1);
}

}  // namespace
}  // namespace ridgeline::scaling
