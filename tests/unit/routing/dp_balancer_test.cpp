#include "routing/dp_balancer.hpp"

#include <gtest/gtest.h>

namespace ridgeline::routing {
namespace {

using Generation = DpBalancer::Generation;

TEST(DpBalancer, CountsItsOwnPicksAsWaiting) {
  DpBalancer fixed(Generation::kFixedStart, 3);
  fixed.publish(2, {.waiting = 0, .running = 5, .kv_usage = 0.0});
  EXPECT_EQ(fixed.pick(), 0);
  EXPECT_EQ(fixed.pick(), 1);
  EXPECT_EQ(fixed.pick(), 0);  // 4 waits, 4 waits, 5 run.
  fixed.publish(0, {.waiting = 3, .running = 0, .kv_usage = 0.0});
  EXPECT_EQ(fixed.pick(), 1);
}

TEST(DpBalancer, TheStartMovesOnInLaterGenerations) {
  DpBalancer rotating(Generation::kRotatingStart, 2);
  EXPECT_EQ(rotating.pick(), 0);
  rotating.publish(0, {});
  EXPECT_EQ(rotating.pick(), 1);
  DpBalancer second(Generation::kFixedStart, 4, 2, 1);
  EXPECT_EQ(second.pick(), 2);
}

TEST(DpBalancer, AFullCacheCostsWhereRequestsWait) {
  DpBalancer pressure(Generation::kKvPressure, 2);
  pressure.publish(0, {.waiting = 1, .running = 0, .kv_usage = 1.0});  // 1 + 6 * 0.5
  pressure.publish(1, {.waiting = 0, .running = 3, .kv_usage = 1.0});
  EXPECT_EQ(pressure.pick(), 1);
  EXPECT_EQ(pressure.pick(), 0);  // 4 + 3 on the other.
  pressure.end(0);
}

TEST(DpBudget, AddsItsPicksToTheLastReport) {
  DpBudget requests(2, false);
  requests.report(0, 1.0, 2, 0);
  requests.report(1, 1.0, 0, 9000);
  EXPECT_EQ(requests.pick(100), 1);
  requests.report(1, 1.0, 0, 0);  // An equal report is skipped.
  EXPECT_EQ(requests.pick(100), 1);
  EXPECT_EQ(requests.pick(100), 0);
  DpBudget tokens(2, true);
  tokens.report(0, 1.0, 3, 500);
  tokens.report(1, 1.0, 1, 500);
  EXPECT_EQ(tokens.pick(10), 1);
  EXPECT_EQ(tokens.pick(10), 0);
}

}  // namespace
}  // namespace ridgeline::routing
