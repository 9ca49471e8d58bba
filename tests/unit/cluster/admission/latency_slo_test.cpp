#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/policies/policies.hpp"
#include "core/rng.hpp"
#include "routing/router.hpp"
#include "unit/cluster/admission/claims.hpp"

namespace ridgeline::admission {
namespace {

Decision decide_late(std::int64_t priority,
                     const std::vector<routing::InstanceView>& instances,
                     const std::vector<routing::Headroom>& headroom) {
  const auto policy = make_latency_slo({});
  const Claim one = test::claim(0, 0, priority);
  core::RngStream draws(1, 0, "admission", 0);
  return policy->decide(
      {.claim = one, .instances = instances, .now = {}, .headroom = headroom}, 0.0, draws);
}

TEST(LatencySlo, ShedsWhatWouldBeLateEverywhere) {
  using Verdict = Decision::Verdict;
  routing::InstanceView busy;
  busy.own.requests = 3;
  busy.gauges.kv_usage = 0.5;
  const std::vector<routing::Headroom> late = {{.ttft_ms = -1.0, .tpot_ms = 5.0},
                                               {.ttft_ms = 1.0, .tpot_ms = -5.0}};
  const Decision refused = decide_late(-1, {busy, busy}, late);
  EXPECT_EQ(refused.verdict, Verdict::kReject);
  EXPECT_EQ(refused.why, Reason::kPredictedLate);
  // Not where its priority is not below zero, or it has no targets.
  EXPECT_EQ(decide_late(0, {busy, busy}, late).verdict, Verdict::kAdmit);
  EXPECT_EQ(decide_late(-1, {busy, busy}, {}).verdict, Verdict::kAdmit);
  // One that would be in time, that is idle, or that is cold: less than 2 % of its cache is used.
  EXPECT_EQ(decide_late(-1, {busy, busy}, {late[0], {.ttft_ms = 0.0, .tpot_ms = 0.0}}).verdict,
            Verdict::kAdmit);
  routing::InstanceView idle = busy;
  idle.own.requests = 0;
  EXPECT_EQ(decide_late(-1, {busy, idle}, late).verdict, Verdict::kAdmit);
  routing::InstanceView cold = busy;
  cold.gauges.kv_usage = 0.019;
  EXPECT_EQ(decide_late(-1, {cold, busy}, late).verdict, Verdict::kAdmit);
  cold.gauges.kv_usage = 0.02;
  EXPECT_EQ(decide_late(-1, {cold, busy}, late).verdict, Verdict::kReject);
}

}  // namespace
}  // namespace ridgeline::admission
