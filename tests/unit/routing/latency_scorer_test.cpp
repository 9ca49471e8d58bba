#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "routing/scorers/candidate.hpp"
#include "routing/scorers/scorers.hpp"

namespace ridgeline::routing {
namespace {

using testing::ElementsAre;

std::vector<Candidate> with_headroom(const std::vector<std::pair<double, double>>& headroom) {
  std::vector<Candidate> all;
  for (const auto& [ttft, tpot] : headroom) {
    Candidate& one = all.emplace_back();
    one.headroom = Headroom{.ttft_ms = ttft, .tpot_ms = tpot};
    one.inflight_requests = 1;
  }
  return all;
}

TEST(LatencyScorer, PrefersTheLeastHeadroomThatSuffices) {
  const auto all = with_headroom({{100, 10}, {200, 20}, {-5, 10}});
  EXPECT_THAT(latency_scores(all), ElementsAre(1.01, 0.01, 0.0));
  EXPECT_THAT(latency_scores(all, {.most_headroom = true}), ElementsAre(0.01, 1.01, 0.0));
}

TEST(LatencyScorer, OfLateOnesTheLeastLateWhateverItPrefers) {
  const auto late = with_headroom({{-100, -10}, {-200, -20}});
  EXPECT_THAT(latency_scores(late, {.most_headroom = true}), ElementsAre(1.01, 0.01));
  // An idle one comes before all others that are late. Alone of its kind it has no range: half of
  // 1, and 0.01.
  auto idle = late;
  idle[1].inflight_requests = 0;
  EXPECT_THAT(latency_scores(idle), ElementsAre(0.0, 0.51));
}

TEST(LatencyScorer, ADimensionWithoutRangeLosesItsWeight) {
  EXPECT_THAT(latency_scores(with_headroom({{100, 10}, {100, 30}, {100, 20}})),
              ElementsAre(1.01, 0.01, 0.51));
}

TEST(LatencyScorer, WithoutPredictionsTakesTheMeanOfTheOthers) {
  std::vector<Candidate> all(2);
  all[0].gauges = {.waiting = 4, .running = 0, .kv_usage = 0.5};
  all[1].prefix = {.matched = 1, .total = 2, .block_tokens = 64};
  EXPECT_THAT(latency_scores(all), ElementsAre(0.17, 0.83));
}

TEST(LatencyScorer, WithoutARangeAllStandInTheMiddle) {
  // One endpoint, or equal ones: floor(100 * 0.5) + 1 hundredths, whatever the strategy.
  EXPECT_THAT(latency_scores(with_headroom({{50, 10}})), ElementsAre(0.51));
  EXPECT_THAT(latency_scores(with_headroom({{50, 10}, {50, 10}}), {.most_headroom = true}),
              ElementsAre(0.51, 0.51));
}

TEST(LatencyScorer, AnEndpointWithoutPredictionIsJustInTimeBesideOthers) {
  auto all = with_headroom({{100, 10}, {50, 20}, {-5, 10}});
  all[1].headroom.reset();
  // Rooms 100 and 10 against 0 and 0: the least room is the best, the late one is out.
  EXPECT_THAT(latency_scores(all), ElementsAre(0.01, 1.01, 0.0));
}

TEST(LatencyScorer, WeightsThatLeaveNothingLeaveFreeCache) {
  std::vector<Candidate> all(2);
  all[0].gauges = {.waiting = 3, .kv_usage = 0.2};
  all[1].gauges = {.kv_usage = 0.9};
  EXPECT_THAT(latency_scores(all, {.kv = -1.0, .queue = 0.5, .prefix = 0.5}),
              ElementsAre(0.8, 0.1));
}

}  // namespace
}  // namespace ridgeline::routing
