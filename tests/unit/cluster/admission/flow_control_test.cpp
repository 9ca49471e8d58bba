#include "cluster/admission/flow/flow_control.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/flow/fairness_policies.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "unit/cluster/admission/claims.hpp"

namespace ridgeline::admission {
namespace {

using test::claim;
using test::ms;
using testing::ElementsAre;

/// Ids in the order in which they are sent, at a saturation.
std::vector<std::uint32_t> sent_at(FlowControl& flows, double saturation, core::SimTime now = {}) {
  std::vector<std::uint32_t> ids;
  while (const auto next = flows.dispatch(saturation, now)) {
    ids.push_back(next->request.value());
  }
  return ids;
}

FlowControl flows_with(FlowOptions options) {
  options.fairness = make_global_strict;
  return FlowControl(options);
}

TEST(FlowControl, SendsTheHighestBandFirstAndStopsAtItsCeiling) {
  FlowControl flows = flows_with({.min_ceiling = 0.5, .max_ceiling = 1.0});
  flows.enqueue(claim(0, 0, -1));
  flows.enqueue(claim(1, 0, 5));
  flows.enqueue(claim(2, 0, 0));
  flows.enqueue(claim(3, 0, 5));
  EXPECT_THAT(sent_at(flows, 1.0), ElementsAre());
  // Ceilings 1, 0.75, 0.5: the second band is blocked, and so the third waits behind it.
  EXPECT_THAT(sent_at(flows, 0.75), ElementsAre(1, 3));
  EXPECT_THAT(sent_at(flows, 0.5), ElementsAre(2));
  EXPECT_THAT(sent_at(flows, 0.49), ElementsAre(0));
  EXPECT_TRUE(flows.empty());
}

TEST(FlowControl, AFlowGoesByItsOrder) {
  for (const auto& [order, expected] :
       {std::pair(DispatchOrder::kFcfs, std::vector<std::uint32_t>{0, 1, 2}),
        std::pair(DispatchOrder::kEdf, std::vector<std::uint32_t>{1, 2, 0}),
        std::pair(DispatchOrder::kSloDeadline, std::vector<std::uint32_t>{2, 0, 1})}) {
    FlowControl flows = flows_with({.order = order});
    for (std::uint32_t id = 0; id < 3; ++id) {
      Claim one = claim(id);
      one.expires = ms(std::vector<std::int64_t>{300, 100, 200}[id]);
      one.slo_deadline = id == 2 ? ms(50) : core::SimTime::never();
      flows.enqueue(one);
    }
    EXPECT_EQ(sent_at(flows, 0.0), expected);
  }
}

TEST(FlowControl, ABandHoldsSoManyRequestsAndBytes) {
  FlowControl flows = flows_with({.band_requests = 2, .band_bytes = 1'000});
  EXPECT_EQ(flows.enqueue(claim(0)), std::nullopt);
  EXPECT_EQ(flows.enqueue(claim(1, 0, 0, 151)), Reason::kQueueFull);  // 4 bytes a token.
  EXPECT_EQ(flows.enqueue(claim(2, 0, 0, 150)), std::nullopt);
  EXPECT_EQ(flows.enqueue(claim(3, 0, 0, 0)), Reason::kQueueFull);
  EXPECT_EQ(flows.enqueue(claim(4, 0, 1)), std::nullopt);  // Another band.
  EXPECT_THAT(sent_at(flows, 0.0), ElementsAre(4, 0, 2));
  EXPECT_EQ(flows.enqueue(claim(5)), std::nullopt);
}

TEST(FlowControl, WhatHasExpiredIsNotSentAndLeavesWithTheSweep) {
  FlowControl flows = flows_with({});
  for (std::uint32_t id = 0; id < 3; ++id) {
    Claim one = claim(id, id % 2);
    one.expires = ms(100 - 10 * id);
    flows.enqueue(one);
  }
  EXPECT_EQ(flows.next_expiry(), ms(80));
  EXPECT_THAT(sent_at(flows, 0.0, ms(90)), ElementsAre(0));
  const auto expired = flows.sweep(ms(90));
  ASSERT_EQ(expired.size(), 2);
  EXPECT_EQ(expired[0].request, core::RequestId(2));
  EXPECT_EQ(expired[1].request, core::RequestId(1));
  EXPECT_EQ(flows.next_expiry(), core::SimTime::never());
}

TEST(FlowControl, ARequestIsTakenOutOnce) {
  FlowControl flows = flows_with({});
  flows.enqueue(claim(0));
  EXPECT_EQ(flows.remove(core::RequestId(1)), std::nullopt);
  EXPECT_EQ(flows.remove(core::RequestId(0))->request, core::RequestId(0));
  EXPECT_EQ(flows.remove(core::RequestId(0)), std::nullopt);
  EXPECT_EQ(flows.size(), 0);
}

}  // namespace
}  // namespace ridgeline::admission
