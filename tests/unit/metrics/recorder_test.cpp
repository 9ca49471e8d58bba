#include "metrics/recorder.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/statistics/queue_growth.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/step.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "records.hpp"

namespace ridgeline::metrics {
namespace {

using core::Duration;
using testing::finished;
using testing::latency_of;
using testing::rejected;

void feed(Recorder& recorder, const domain::RequestRecord& record) {
  recorder.on_request(record, latency_of(record));
}

domain::TokenGaps gaps(std::int64_t first_ms,
                       std::int64_t growth_ms,
                       std::int64_t count,
                       std::int64_t requests) {
  return {.gap = Duration::milliseconds(first_ms),
          .growth = Duration::milliseconds(growth_ms),
          .count = count,
          .requests = requests};
}

/// Two requests of four and two tokens; see the numbers in the tests.
Recorder two_requests(RecorderOptions options = {}) {
  Recorder recorder(options);
  feed(recorder, finished(0, 0, 10, 40, 4));
  feed(recorder, finished(1, 20, 40, 80, 2));
  recorder.on_token_gaps(gaps(10, 0, 3, 1));
  recorder.on_token_gaps(gaps(40, 0, 1, 1));
  return recorder;
}

double value(const std::optional<Distribution>& distribution, Statistic statistic) {
  return distribution.has_value() ? distribution->of(statistic) : std::nan("");
}

TEST(Recorder, CountsRequestsAndTokens) {
  Recorder recorder = two_requests();
  auto capped = finished(2, 30, 50, 90, 5);
  capped.outcome = domain::Outcome::kLengthCapped;
  capped.cached_tokens = core::Tokens(64);
  capped.preemptions = 2;
  feed(recorder, capped);
  auto unfinished = finished(3, 35, 60, 60, 1);
  unfinished.outcome = domain::Outcome::kUnfinished;
  unfinished.cached_tokens = core::Tokens(16);
  unfinished.preemptions = 1;
  feed(recorder, unfinished);
  feed(recorder, rejected(4, 36));
  const Summary summary = recorder.summarise({});
  EXPECT_EQ(summary.requests(), 5);
  EXPECT_EQ(summary.completed, 3);
  EXPECT_THAT(summary.by_outcome, ::testing::ElementsAre(2, 1, 1, 0, 1, 0, 0, 0));
  EXPECT_EQ(summary.total_input_tokens, 300);
  EXPECT_EQ(summary.total_output_tokens, 11);
  EXPECT_EQ(summary.total_cached_tokens, 64);
  EXPECT_EQ(summary.preemptions, 3);  // of all requests
}

// Client TTFT: 10 - 0 + 3 = 13 and 40 - 20 + 3 = 23 ms. E2E: 40 - 0 + 4 = 44 and 80 - 20 + 4 = 64
// ms. TPOT: (44 - 13) / 3 = 10.333... and (64 - 23) / 1 = 41 ms. Server: TTFT 11 and 21, E2E 41 and
// 61, TPOT 10 and 40 ms. Of two values a and b, numpy's p-quantile is a + (b - a) p, and the
// population's standard deviation (b - a) / 2.
TEST(Recorder, DescribesLatenciesOnBothClocks) {
  const Summary summary = two_requests().summarise({});
  const auto& ttft = summary.client.of(Metric::kTtft);
  EXPECT_DOUBLE_EQ(value(ttft, Statistic::kMean), 18.0);
  EXPECT_DOUBLE_EQ(value(ttft, Statistic::kStd), 5.0);
  EXPECT_DOUBLE_EQ(value(ttft, Statistic::kP50), 18.0);
  EXPECT_DOUBLE_EQ(value(ttft, Statistic::kP90), 22.0);
  EXPECT_DOUBLE_EQ(value(ttft, Statistic::kP95), 22.5);
  EXPECT_DOUBLE_EQ(value(ttft, Statistic::kP99), 22.9);
  EXPECT_DOUBLE_EQ(value(ttft, Statistic::kMax), 23.0);
  // TPOT is kept in whole picoseconds: 10 333 333 333 and 41 000 000 000.
  EXPECT_DOUBLE_EQ(value(summary.client.of(Metric::kTpot), Statistic::kMean), 25.6666666665);
  EXPECT_DOUBLE_EQ(value(summary.client.of(Metric::kE2e), Statistic::kP50), 54.0);
  EXPECT_DOUBLE_EQ(value(summary.server.of(Metric::kTtft), Statistic::kP50), 16.0);
  EXPECT_DOUBLE_EQ(value(summary.server.of(Metric::kTpot), Statistic::kMax), 40.0);
  EXPECT_DOUBLE_EQ(value(summary.server.of(Metric::kE2e), Statistic::kMean), 51.0);
  EXPECT_DOUBLE_EQ(value(summary.queue_time_ms, Statistic::kMax), 3.0);
  EXPECT_DOUBLE_EQ(value(summary.queue_time_ms, Statistic::kStd), 0.0);
}

// Gaps 10, 10, 10, 40: mean 17.5; deviations -7.5 (three times) and 22.5, so the variance is
// (3 * 56.25 + 506.25) / 4 = 168.75. p90 stands at 0.9 * 3 = 2.7: 10 + 0.7 * 30 = 31.
TEST(Recorder, PoolsTheGapsOfAllRequests) {
  const Summary summary = two_requests().summarise({});
  const auto& itl = summary.client.of(Metric::kItl);
  EXPECT_DOUBLE_EQ(value(itl, Statistic::kMean), 17.5);
  EXPECT_DOUBLE_EQ(value(itl, Statistic::kStd), std::sqrt(168.75));
  EXPECT_DOUBLE_EQ(value(itl, Statistic::kP50), 10.0);
  EXPECT_DOUBLE_EQ(value(itl, Statistic::kP90), 31.0);
  EXPECT_EQ(itl, summary.server.of(Metric::kItl));
}

// From 0 until the client has the answer sent at 20 ms, 64 ms later: 84 ms. 200 input and 6 output
// tokens.
TEST(Recorder, RatesAreOverTheTimeFromFirstArrivalToLastAnswer) {
  const Summary summary = two_requests().summarise({});
  EXPECT_DOUBLE_EQ(summary.duration_s.value(), 0.084);
  EXPECT_DOUBLE_EQ(summary.request_throughput.value(), 2.0 / 0.084);
  EXPECT_DOUBLE_EQ(summary.output_throughput.value(), 6.0 / 0.084);
  EXPECT_DOUBLE_EQ(summary.total_token_throughput.value(), 206.0 / 0.084);
  EXPECT_EQ(summary.goodput, std::nullopt);
  EXPECT_EQ(summary.good_share, std::nullopt);
  EXPECT_TRUE(summary.slo.empty());
}

TEST(Recorder, ARejectedFirstArrivalStartsTheClock) {
  Recorder recorder{RecorderOptions{}};
  feed(recorder, rejected(0, 4));
  feed(recorder, finished(1, 20, 40, 80, 2));
  EXPECT_DOUBLE_EQ(recorder.summarise({}).duration_s.value(), 0.080);  // 84 - 4 ms
}

TEST(Recorder, GoodputCountsRequestsThatMeetEveryTarget) {
  RecorderOptions options;
  // TTFT 13 and 23; TPOT 10.33 and 41; mean gaps 10 and 40; E2E 44 and 64 ms.
  options.slo.limits = {Duration::milliseconds(23),
                        Duration::milliseconds(15),
                        std::nullopt,
                        Duration::milliseconds(40)};
  Recorder recorder = two_requests(options);
  const Summary summary = recorder.summarise({});
  EXPECT_DOUBLE_EQ(summary.goodput.value(), 0.0);
  ASSERT_EQ(summary.slo.size(), 3U);
  EXPECT_EQ(summary.slo[0].metric, Metric::kTtft);
  EXPECT_DOUBLE_EQ(summary.slo[0].limit_ms, 23.0);
  EXPECT_DOUBLE_EQ(summary.slo[0].value_ms.value(), 22.9);
  EXPECT_EQ(summary.slo[0].met, true);
  EXPECT_DOUBLE_EQ(summary.slo[0].share.value(), 1.0);  // at most the limit is within it
  EXPECT_EQ(summary.slo[1].metric, Metric::kTpot);
  EXPECT_EQ(summary.slo[1].met, false);
  EXPECT_DOUBLE_EQ(summary.slo[1].share.value(), 0.5);
  EXPECT_EQ(summary.slo[2].metric, Metric::kE2e);
  EXPECT_DOUBLE_EQ(summary.slo[2].share.value(), 0.0);
}

TEST(Recorder, GoodputOfOneOfTwo) {
  RecorderOptions options;
  options.slo.limits[static_cast<std::size_t>(Metric::kItl)] = Duration::milliseconds(39);
  options.slo.statistic = Statistic::kP50;
  const Summary summary = two_requests(options).summarise({});
  EXPECT_DOUBLE_EQ(summary.goodput.value(), 1.0 / 0.084);
  EXPECT_DOUBLE_EQ(summary.good_share.value(), 0.5);
  EXPECT_DOUBLE_EQ(summary.slo.at(0).value_ms.value(), 10.0);  // the pooled median
  EXPECT_EQ(summary.slo.at(0).met, true);
}

TEST(Recorder, ASingleTokenMeetsTargetsOnTheTimeBetweenTokens) {
  RecorderOptions options;
  options.slo.limits = {std::nullopt, Duration::ticks(1), Duration::ticks(1), std::nullopt};
  Recorder recorder(options);
  feed(recorder, finished(0, 0, 10, 10, 1));
  const Summary summary = recorder.summarise({});
  EXPECT_DOUBLE_EQ(summary.good_share.value(), 1.0);
  ASSERT_EQ(summary.slo.size(), 2U);
  EXPECT_EQ(summary.slo[0].value_ms, std::nullopt);
  EXPECT_EQ(summary.slo[0].met, std::nullopt);
  EXPECT_DOUBLE_EQ(summary.slo[0].share.value(), 1.0);
}

TEST(Recorder, SumsUpTheEngine) {
  EngineCounts engine;
  engine.steps = 7;
  engine.step_time.by_bottleneck = {Duration::milliseconds(10),
                                    Duration::milliseconds(60),
                                    Duration::milliseconds(5),
                                    Duration::milliseconds(1)};
  engine.step_time.cpu = Duration::milliseconds(400);
  engine.busy = Duration::milliseconds(80);
  engine.prefix_queries = core::Tokens(400);
  engine.prefix_hits = core::Tokens(100);
  engine.kv_blocks = core::Blocks(50);
  engine.peak_used_blocks = core::Blocks(40);
  engine.used_block_seconds = 1.6;
  const Summary summary = two_requests().summarise(engine);
  EXPECT_EQ(summary.steps, 7);
  // The GPU works 76 ms of 80: 4 ms wait for the host.
  EXPECT_THAT(summary.time_by_bottleneck,
              ::testing::ElementsAre(Duration::milliseconds(10),
                                     Duration::milliseconds(60),
                                     Duration::milliseconds(5),
                                     Duration::milliseconds(5)));
  EXPECT_EQ(summary.busy, Duration::milliseconds(80));
  EXPECT_DOUBLE_EQ(summary.kv_cache.peak.value(), 0.8);
  EXPECT_DOUBLE_EQ(summary.kv_cache.mean.value(), 0.4);  // 1.6 / (50 * 0.08)
  EXPECT_DOUBLE_EQ(summary.kv_cache.prefix_hit_rate.value(), 0.25);
}

TEST(Recorder, WithoutRequestsThereAreNoNumbers) {
  const Summary summary = Recorder(RecorderOptions{}).summarise({});
  EXPECT_EQ(summary.requests(), 0);
  EXPECT_EQ(summary.duration_s, std::nullopt);
  EXPECT_EQ(summary.request_throughput, std::nullopt);
  EXPECT_EQ(summary.client, LatencySummary{});
  EXPECT_EQ(summary.server, LatencySummary{});
  EXPECT_EQ(summary.queue_time_ms, std::nullopt);
  EXPECT_EQ(summary.kv_cache.peak, std::nullopt);
  EXPECT_EQ(summary.kv_cache.mean, std::nullopt);
  EXPECT_EQ(summary.kv_cache.prefix_hit_rate, std::nullopt);
}

TEST(Recorder, WhereAllIsRejectedThereAreOnlyCounts) {
  RecorderOptions options;
  options.slo.limits[0] = Duration::milliseconds(1);
  Recorder recorder(options);
  for (std::uint32_t id = 0; id < 3; ++id) {
    feed(recorder, rejected(id, id));
  }
  const Summary summary = recorder.summarise({});
  EXPECT_EQ(summary.completed, 0);
  EXPECT_EQ(summary.count(domain::Outcome::kRejected), 3);
  EXPECT_EQ(summary.total_input_tokens, 0);
  EXPECT_EQ(summary.duration_s, std::nullopt);
  EXPECT_EQ(summary.goodput, std::nullopt);
  EXPECT_EQ(summary.client, LatencySummary{});
  ASSERT_EQ(summary.slo.size(), 1U);
  EXPECT_EQ(summary.slo[0].share, 0.0);
  EXPECT_EQ(summary.slo[0].met, false);
}

TEST(Recorder, ARequestWithoutAnAnswerTookForEver) {
  for (const auto& [statistic, met] : {std::pair(Statistic::kP50, true),
                                       std::pair(Statistic::kP99, false),
                                       std::pair(Statistic::kMean, false)}) {
    RecorderOptions options;
    options.slo.limits[0] = Duration::seconds(1);
    options.slo.statistic = statistic;
    Recorder recorder(options);
    feed(recorder, finished(0, 0, 10, 20, 2));
    feed(recorder, finished(1, 0, 10, 20, 2));
    feed(recorder, rejected(2, 0));
    const Summary summary = recorder.summarise({});
    EXPECT_DOUBLE_EQ(summary.good_share.value(), 2.0 / 3.0);
    EXPECT_DOUBLE_EQ(summary.slo.at(0).share.value(), 2.0 / 3.0);
    EXPECT_EQ(summary.slo.at(0).met, met);
  }
}

TEST(Recorder, RequestsHeldBackAreAnOverloadOfTheClient) {
  statistics::QueueGrowth held_back;
  for (std::int64_t i = 0; i < 100; ++i) {
    held_back.come(core::SimTime::at(Duration::seconds(i)));
    held_back.leave(core::SimTime::at(Duration::seconds(2 * i)));
  }
  RecorderOptions options;
  options.held_back = &held_back;
  Recorder recorder(options);
  const Summary summary = recorder.summarise({});
  ASSERT_TRUE(summary.overload.has_value());
  EXPECT_TRUE(summary.overload->at_client);
  EXPECT_NEAR(summary.overload->backlog.wait_growth, 1.0, 0.1);
}

TEST(Recorder, OneRequestHasNoSpread) {
  Recorder recorder{RecorderOptions{}};
  feed(recorder, finished(0, 0, 10, 40, 4));
  const Summary summary = recorder.summarise({});
  for (const auto statistic :
       {Statistic::kMean, Statistic::kP50, Statistic::kP99, Statistic::kMax}) {
    EXPECT_DOUBLE_EQ(value(summary.client.of(Metric::kE2e), statistic), 44.0);
  }
  EXPECT_DOUBLE_EQ(value(summary.client.of(Metric::kE2e), Statistic::kStd), 0.0);
}

TEST(Recorder, WithoutDecodesThereIsNoTimeBetweenTokens) {
  Recorder recorder{RecorderOptions{}};
  feed(recorder, finished(0, 0, 10, 10, 1));
  feed(recorder, finished(1, 5, 30, 30, 1));
  const Summary summary = recorder.summarise({});
  EXPECT_TRUE(summary.client.of(Metric::kTtft).has_value());
  EXPECT_EQ(summary.client.of(Metric::kTpot), std::nullopt);
  EXPECT_EQ(summary.client.of(Metric::kItl), std::nullopt);
  EXPECT_EQ(summary.server.of(Metric::kTpot), std::nullopt);
}

TEST(Recorder, AnAnswerInNoTimeHasNoRate) {
  Recorder recorder{RecorderOptions{}};
  recorder.on_request(finished(0, 0, 0, 0, 1), {});
  const Summary summary = recorder.summarise({});
  EXPECT_DOUBLE_EQ(summary.duration_s.value(), 0.0);
  EXPECT_EQ(summary.request_throughput, std::nullopt);
}

TEST(Recorder, DigestDoesNotDependOnHowStepsWereCut) {
  const std::vector<std::int64_t> totals = {7, 80};
  Recorder whole{RecorderOptions{}};
  feed(whole, finished(0, 0, 10, 40, 4));
  feed(whole, finished(1, 0, 10, 40, 4));
  whole.on_token_gaps(gaps(9, 1, 3, 2));  // 9, 10, 11 for two requests
  Recorder cut{RecorderOptions{}};
  cut.on_token_gaps(gaps(9, 0, 1, 2));
  cut.on_token_gaps(gaps(10, 1, 2, 1));
  feed(cut, finished(1, 0, 10, 40, 4));
  cut.on_token_gaps(gaps(10, 0, 1, 1));
  cut.on_token_gaps(gaps(11, 0, 1, 1));
  feed(cut, finished(0, 0, 10, 40, 4));
  EXPECT_EQ(whole.digest(totals), cut.digest(totals));
  const Summary a = whole.summarise({});
  const Summary b = cut.summarise({});
  EXPECT_EQ(a.client, b.client);  // to the last bit, the standard deviation too
  cut.on_token_gaps(gaps(11, 0, 1, 1));
  EXPECT_NE(whole.digest(totals), cut.digest(totals));
  EXPECT_NE(whole.digest(totals), whole.digest(std::vector<std::int64_t>{7, 81}));
}

TEST(Recorder, ASketchChangesPercentilesWithinItsErrorAndNothingElse) {
  RecorderOptions sketched;
  sketched.percentiles = Percentiles::kSketch;
  Recorder exact{RecorderOptions{}};
  Recorder sketch(sketched);
  // TTFTs of 3 + 7 i ms, gaps of 20 ms and up.
  for (std::uint32_t i = 0; i < 1000; ++i) {
    for (Recorder* recorder : {&exact, &sketch}) {
      feed(*recorder, finished(i, i, i + 7 * i, i + 7 * i + 20, 2));
      recorder->on_token_gaps(gaps(20, 1, 5, 3));
    }
  }
  EXPECT_EQ(exact.digest({}), sketch.digest({}));
  const Summary a = exact.summarise({});
  const Summary b = sketch.summarise({});
  for (const Metric metric : {Metric::kTtft, Metric::kTpot, Metric::kItl, Metric::kE2e}) {
    for (const auto statistic : {Statistic::kMean, Statistic::kStd, Statistic::kMax}) {
      EXPECT_EQ(value(a.client.of(metric), statistic), value(b.client.of(metric), statistic));
    }
    for (const auto statistic :
         {Statistic::kP50, Statistic::kP90, Statistic::kP95, Statistic::kP99}) {
      const double truth = value(a.client.of(metric), statistic);
      EXPECT_NEAR(value(b.client.of(metric), statistic), truth, 0.001 * truth);
    }
  }
  EXPECT_TRUE(exact.warnings().empty());
  ASSERT_EQ(sketch.warnings().size(), 1U);
  EXPECT_EQ(sketch.warnings()[0].code, "W-percentile-sketch");
  EXPECT_THAT(sketch.warnings()[0].message, ::testing::HasSubstr("0.098 %"));
}

class Log final : public Listener {
 public:
  void on_request(const domain::RequestRecord& record, const RequestMetrics& metrics) override {
    ids.push_back(record.id.value());
    ttfts.push_back(metrics.ttft);
  }
  void on_steps(const domain::StepRecord& record) override { steps.push_back(record.first_step); }

  std::vector<std::uint32_t> ids;
  std::vector<std::optional<Duration>> ttfts;
  std::vector<std::int64_t> steps;
};

TEST(Recorder, TellsItsListenerEverythingAsItComes) {
  Log log;
  RecorderOptions options;
  options.listener = &log;
  Recorder recorder(options);
  feed(recorder, finished(3, 0, 10, 40, 4));
  domain::StepRecord step;
  step.first_step = 12;
  recorder.on_steps(step);
  feed(recorder, rejected(1, 5));
  EXPECT_THAT(log.ids, ::testing::ElementsAre(3U, 1U));
  EXPECT_THAT(log.ttfts, ::testing::ElementsAre(Duration::milliseconds(13), std::nullopt));
  EXPECT_THAT(log.steps, ::testing::ElementsAre(12));
}

}  // namespace
}  // namespace ridgeline::metrics
