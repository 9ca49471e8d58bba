#include "routing/filters.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "routing/router.hpp"
#include "routing/scorers/candidate.hpp"

namespace ridgeline::routing {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(StickyCandidates, StayUntilTheyAreTooLate) {
  std::vector<Candidate> all(3);
  all[0].prefix = {.matched = 8, .total = 10, .block_tokens = 64};
  all[1].prefix = {.matched = 7, .total = 10, .block_tokens = 64};
  EXPECT_THAT(sticky_candidates(all), ElementsAre(0));
  // 286,704 tokens take 18 s at 15,928 a second.
  all[0].inflight_tokens = 286'704;
  EXPECT_THAT(sticky_candidates(all), ElementsAre(0));
  all[0].inflight_tokens = 286'720;
  EXPECT_THAT(sticky_candidates(all), ElementsAre(0, 1, 2));
  all[0].prefix.matched = 0;
  EXPECT_THAT(sticky_candidates(all), ElementsAre(0, 1, 2));
}

TEST(HeadroomTier, KeepsWhereTargetsAreMet) {
  std::vector<Candidate> all(3);
  all[0].headroom = Headroom{.ttft_ms = 1.0, .tpot_ms = -1.0};
  all[1].headroom = Headroom{.ttft_ms = 0.0, .tpot_ms = 2.0};
  all[2].headroom = Headroom{.ttft_ms = -1.0, .tpot_ms = 2.0};
  EXPECT_THAT(headroom_tier(all, 0.01, 0.02), ElementsAre(1));
  EXPECT_THAT(headroom_tier(all, 0.01, 0.005), ElementsAre(0, 2));
  all[1].headroom->ttft_ms = -1.0;
  EXPECT_THAT(headroom_tier(all, 0.01, 0.02), ElementsAre(0, 1, 2));
}

TEST(WithinLimits, IncludesTheLimit) {
  std::vector<Candidate> all(2);
  all[0].gauges.waiting = 3;
  all[1].inflight_requests = 5;
  EXPECT_THAT(within_limits(all, {{Utilization::kWaiting, 2.0}}, false), ElementsAre(1));
  EXPECT_THAT(within_limits(all, {{Utilization::kWaiting, 3.0}}, false), ElementsAre(0, 1));
  const std::vector<UtilizationLimit> both = {{Utilization::kWaiting, 2.0},
                                              {Utilization::kInFlight, 4.0}};
  EXPECT_THAT(within_limits(all, both, false), IsEmpty());
  EXPECT_THAT(within_limits(all, both, true), ElementsAre(0, 1));
}

TEST(SessionCandidates, AreWhereItWasServed) {
  std::vector<Candidate> all(3);
  EXPECT_THAT(session_candidates(all), ElementsAre(0, 1, 2));
  all[1].served_session = true;
  EXPECT_THAT(session_candidates(all), ElementsAre(1));
}

TEST(Saturation, IsTheMeanOfTheTighterResource) {
  std::vector<Candidate> all(2);
  all[0].gauges = {.waiting = 10, .running = 0, .kv_usage = 0.4};
  all[1].gauges = {.waiting = 0, .running = 0, .kv_usage = 0.4};
  EXPECT_DOUBLE_EQ(utilization_saturation(all, {false, false}), 1.25);
  EXPECT_DOUBLE_EQ(utilization_saturation(all, {true, false}), 0.75);
  EXPECT_DOUBLE_EQ(utilization_saturation({}, {}), 1.0);
  EXPECT_THAT(unsaturated(all, {false, false}), ElementsAre(1));
  EXPECT_THAT(unsaturated(all, {false, true}), ElementsAre(0, 1));  // None left: all.
}

TEST(Concurrency, CountsRequestsTokensOrTheWorse) {
  std::vector<Candidate> all(2);
  all[0].inflight_requests = 50;
  all[1].inflight_tokens = 1'000'000;
  EXPECT_DOUBLE_EQ(concurrency_saturation(all, {}), 0.25);
  EXPECT_DOUBLE_EQ(concurrency_saturation(all, {.mode = Concurrency::kTokens}), 0.5);
  EXPECT_DOUBLE_EQ(concurrency_saturation(all, {.mode = Concurrency::kHybrid}), 0.75);
  EXPECT_DOUBLE_EQ(concurrency_saturation({}, {}), 1.0);
  EXPECT_THAT(below_concurrency(all, {.mode = Concurrency::kTokens}), ElementsAre(0));
}

}  // namespace
}  // namespace ridgeline::routing
