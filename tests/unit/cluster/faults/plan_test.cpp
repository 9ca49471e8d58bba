#include "cluster/faults/plan.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/faults/fault.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"

namespace ridgeline::faults {
namespace {

core::SimTime second(std::int64_t count) {
  return core::SimTime::at(core::Duration::seconds(count));
}

Fault fault(FaultKind kind, std::int64_t at, std::uint32_t instance) {
  return {.kind = kind, .at = second(at), .instance = core::InstanceId(instance)};
}

TEST(FaultPlan, ListsFaultsInOrderOfTime) {
  const FaultPlan plan({{.fault = fault(FaultKind::kHang, 60, 1)},
                        {.fault = fault(FaultKind::kCrash, 60, 3)},
                        {.fault = fault(FaultKind::kCrash, 10, 2)}},
                       {},
                       4,
                       0);
  EXPECT_THAT(plan.listed(),
              testing::ElementsAre(fault(FaultKind::kCrash, 10, 2),
                                   fault(FaultKind::kCrash, 60, 3),
                                   fault(FaultKind::kHang, 60, 1)));
  EXPECT_TRUE(plan.has(FaultKind::kHang));
  EXPECT_FALSE(plan.has(FaultKind::kSlowdown));
  EXPECT_EQ(plan.of_service(core::InstanceId(0), 0, second(0)), std::nullopt);
  EXPECT_TRUE(FaultPlan().listed().empty() && FaultPlan().of_hosts().empty());
}

TEST(FaultPlan, AShareIsSoManyDifferentInstances) {
  const std::vector<ListedFault> slow = {
      {.fault = {.kind = FaultKind::kSlowdown, .factor_thousandths = 1500}, .share = 0.3}};
  std::vector<int> chosen(20);
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const FaultPlan plan(slow, {}, 20, seed);
    ASSERT_EQ(plan.listed().size(), 6);  // 30 % of 20.
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_TRUE(i == 0 || plan.listed()[i - 1].instance < plan.listed()[i].instance);
      ++chosen[plan.listed()[i].instance.value()];
    }
  }
  // Binomial(2000, 0.3): mean 600, standard deviation 20.5; five of them either way.
  for (const int times : chosen) {
    EXPECT_NEAR(times, 600, 103);
  }
  EXPECT_EQ(FaultPlan(slow, {}, 2, 0).listed().size(), 1);  // At least one.
}

TEST(FaultPlan, NeighboursAreStruckTogetherOrByAShare) {
  std::vector<ListedFault> listed = {
      {.fault = {.kind = FaultKind::kCrash, .at = second(5)}, .among = Neighbours{3, 2}}};
  EXPECT_THAT(FaultPlan(listed, {}, 8, 0).listed(),
              testing::ElementsAre(fault(FaultKind::kCrash, 5, 3), fault(FaultKind::kCrash, 5, 4)));
  listed.front().share = 0.5;
  std::vector<int> chosen(8);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const FaultPlan plan(listed, {}, 8, seed);
    ASSERT_EQ(plan.listed().size(), 1);
    ++chosen[plan.listed().front().instance.value()];
  }
  EXPECT_EQ(chosen[3] + chosen[4], 200);
  EXPECT_GT(chosen[3], 60);
  EXPECT_GT(chosen[4], 60);
}

/// Alternating renewal: the share of time in service tends to MTBF / (MTBF + MTTR).
TEST(FaultPlan, MeanTimesGiveTheAvailability) {
  const FaultPlan plan(
      {}, {{.mtbf = core::Duration::seconds(900), .mttr = core::Duration::seconds(100)}}, 1, 7);
  constexpr std::int64_t kCycles = 40'000;
  double up = 0.0;
  double down = 0.0;
  for (std::int64_t nth = 0; nth < kCycles; ++nth) {
    const auto one = plan.of_service(core::InstanceId(5), nth, second(1000));
    ASSERT_TRUE(one.has_value());
    EXPECT_EQ(one->instance, core::InstanceId(5));
    up += (one->at - second(1000)).to_seconds();
    down += one->lasts->to_seconds();
  }
  // The mean of n exponentials of mean m has the standard deviation m / sqrt(n): 0.5 %, times 3.
  EXPECT_NEAR(up / kCycles, 900.0, 900.0 * 0.015);
  EXPECT_NEAR(down / kCycles, 100.0, 100.0 * 0.015);
  // By the delta method, A (1 - A) sqrt(2 / n) = 0.00064; three of them.
  EXPECT_NEAR(up / (up + down), 0.9, 0.002);
}

TEST(FaultPlan, DrawsDependOnTheInstanceAndItsServiceAlone) {
  const RandomFaults often{.mtbf = core::Duration::seconds(10), .mttr = core::Duration::seconds(1)};
  const FaultPlan plan({}, {often}, 2, 3);
  const FaultPlan larger({}, {often}, 64, 3);
  const auto first = plan.of_service(core::InstanceId(1), 4, second(0));
  EXPECT_EQ(first, larger.of_service(core::InstanceId(1), 4, second(0)));
  EXPECT_NE(first, plan.of_service(core::InstanceId(1), 5, second(0)));
  EXPECT_NE(first->at, plan.of_service(core::InstanceId(0), 4, second(0))->at);
}

TEST(FaultPlan, TheFirstOfCrashAndHangEndsAService) {
  const RandomFaults crash{.mtbf = core::Duration::seconds(10), .mttr = core::Duration::seconds(1)};
  const RandomFaults hang{.kind = FaultKind::kHang,
                          .mtbf = core::Duration::seconds(10),
                          .mttr = core::Duration::seconds(1)};
  const FaultPlan both({}, {crash, hang}, 1, 3);
  std::int64_t hangs = 0;
  for (std::int64_t nth = 0; nth < 1000; ++nth) {
    const auto first = both.of_service(core::InstanceId(0), nth, second(0));
    const auto own = FaultPlan({}, {crash}, 1, 3).of_service(core::InstanceId(0), nth, second(0));
    const auto other = FaultPlan({}, {hang}, 1, 3).of_service(core::InstanceId(0), nth, second(0));
    EXPECT_EQ(first->at, std::min(own->at, other->at));
    hangs += first->kind == FaultKind::kHang ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(hangs), 500.0, 48.0);  // Three deviations of sqrt(1000) / 2.
}

/// Each host by itself, each kind by itself, and no instance sees any of it.
TEST(FaultPlan, HostsHaveFaultsByChanceOfTheirOwn) {
  const RandomFaults node{
      .of_node = true, .mtbf = core::Duration::seconds(10), .mttr = core::Duration::seconds(1)};
  const RandomFaults link{.kind = FaultKind::kLinkDegraded,
                          .mtbf = core::Duration::seconds(10),
                          .mttr = core::Duration::seconds(1),
                          .factor_thousandths = 250};
  const FaultPlan plan({}, {node, link}, 4, 3);
  EXPECT_EQ(plan.of_hosts().size(), 2U);
  EXPECT_FALSE(plan.of_service(core::InstanceId(0), 0, second(0)).has_value());
  const Fault lost = plan.of_host(0, 1, 0, second(5));
  EXPECT_EQ(lost.kind, FaultKind::kCrash);
  EXPECT_FALSE(lost.instance.valid());
  EXPECT_EQ(lost.host, 1);
  EXPECT_GT(lost.at, second(5));
  const Fault weak = plan.of_host(1, 1, 0, second(5));
  EXPECT_EQ(weak.factor_thousandths, 250);
  EXPECT_NE(weak.at, lost.at);
  EXPECT_NE(plan.of_host(0, 0, 0, second(5)).at, lost.at);
  EXPECT_NE(plan.of_host(0, 1, 1, second(5)).at, lost.at);
  EXPECT_EQ(FaultPlan({}, {link}, 4, 3).of_host(0, 1, 0, second(5)), weak);
}

}  // namespace
}  // namespace ridgeline::faults
