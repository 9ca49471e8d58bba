#include "plan/replica_capacity.hpp"

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "metrics/slo.hpp"
#include "plan/capacity.hpp"
#include "plan/race.hpp"
#include "plan/target.hpp"

namespace ridgeline::plan {
namespace {

Targets at_most(metrics::Metric metric) {
  return {percentile_target(metric, metrics::Statistic::kP99, core::Duration::seconds(1))};
}

Capacity of(double load) {
  Capacity capacity;
  capacity.load = load;
  return capacity;
}

TEST(ReplicasTogether, AReplicaThatIsNearlyFullIsRunAlone) {
  const ReplicaRules rules{.load = 100.0, .most = 1'000};
  EXPECT_EQ(replicas_together(rules, of(5.0), at_most(metrics::Metric::kTtft), 10.0), 1);
}

TEST(ReplicasTogether, FarFromFullTheyAreThoseThatTheLoadNeedsUpToEight) {
  const ReplicaRules rules{.load = 10.0, .spare = 1, .most = 1'000};
  EXPECT_EQ(replicas_together(rules, of(4.0), at_most(metrics::Metric::kTtft), 10.0), 3);
  EXPECT_EQ(replicas_together(rules, of(0.5), at_most(metrics::Metric::kTtft), 10.0), 8);
  EXPECT_EQ(replicas_together(rules, of(20.0), at_most(metrics::Metric::kTtft), 100.0), 1);
  EXPECT_EQ(replicas_together(rules, of(0.5), at_most(metrics::Metric::kTpot), 10.0), 1);
}

TEST(ReplicasTogether, WithoutACapacityAndByNumberTheyAreWhatIsAllowed) {
  EXPECT_EQ(
      replicas_together({.load = 10.0, .most = 3}, of(0.0), at_most(metrics::Metric::kTtft), 10.0),
      3);
  EXPECT_EQ(replicas_together({.load = 10.0, .spare = 2, .most = 4, .allowed = {4}},
                              of(1.0),
                              at_most(metrics::Metric::kTtft),
                              10.0),
            2);
}

}  // namespace
}  // namespace ridgeline::plan
