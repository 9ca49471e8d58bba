#include "metrics/timeline.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/step.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/series.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "records.hpp"

namespace ridgeline::metrics {
namespace {

using core::Duration;
using testing::at_ms;
using testing::finished;
using testing::latency_of;

constexpr std::int64_t kMs = 1'000'000'000;  // Ticks.

/// Steps of two decodes from `start_ms` on, each `period_ms` long, 1 ms of it on the GPU's compute
/// and the rest on its memory, which grows by `growth_ms` from step to step.
domain::StepRecord steps(std::int64_t start_ms,
                         std::int64_t number,
                         std::int64_t period_ms,
                         std::int64_t growth_ms = 0) {
  domain::StepRecord record;
  record.start = at_ms(start_ms);
  record.steps = number;
  record.period = Duration::milliseconds(period_ms);
  record.period_growth = Duration::milliseconds(growth_ms);
  record.gpu_growth = record.period_growth;
  record.num_decodes = 2;
  record.decode_context = core::Tokens(100);
  record.time.by_bottleneck = {Duration::milliseconds(1), Duration::milliseconds(period_ms - 1)};
  return record;
}

Timeline timeline(std::size_t windows = 64) {
  return Timeline(TimelineOptions{.windows = windows, .slo = {}});
}

void feed(Timeline& line, const domain::RequestRecord& record, const SloTargets& slo = {}) {
  const RequestLatency latency = latency_of(record);
  line.on_request(record, latency, within_limits(slo, measure(record, latency)));
}

std::int64_t busy(const Window& window) {
  return std::accumulate(window.busy.begin(), window.busy.end(), std::int64_t{0});
}

TEST(Timeline, AStepCountsWhereItEndsAndLastsWhereItRuns) {
  Timeline line = timeline();
  line.on_steps(steps(0, 1, 4));  // Over four windows of a millisecond.
  const Series series = line.series();
  ASSERT_EQ(series.windows.size(), 4U);
  EXPECT_EQ(series.window, Duration::milliseconds(1));
  for (const Window& window : series.windows) {
    EXPECT_EQ(window.busy[0], kMs / 4);  // 1 ms of 4.
    EXPECT_EQ(window.busy[1], kMs * 3 / 4);
    EXPECT_EQ(window.running, core::Int128{2} * kMs);
    EXPECT_EQ(window.kv_tokens, core::Int128{102} * kMs);  // Its two tokens are there at its end.
    EXPECT_EQ(window.running_max, 2);
  }
  EXPECT_EQ(series.windows[2].steps, 0);
  EXPECT_EQ(series.windows[3].steps, 1);
  EXPECT_EQ(series.windows[3].decode_tokens, 2);
}

TEST(Timeline, StepsInOneRecordAreAsOneByOne) {
  const domain::StepRecord run = steps(3, 40, 2, 1);
  Timeline together = timeline();
  together.on_steps(run);
  Timeline apart = timeline();
  std::int64_t start = 3;
  for (std::int64_t i = 0; i < run.steps; ++i) {
    domain::StepRecord one = steps(start, 1, 2 + i);
    one.decode_context += core::Tokens(2 * i);
    apart.on_steps(one);
    start += 2 + i;
  }
  EXPECT_EQ(together.series(), apart.series());
}

TEST(Timeline, NeighboursAreAddedUpWhenTheRunIsLonger) {
  Timeline coarse = timeline(64);
  Timeline fine = timeline(128);
  for (Timeline* line : {&coarse, &fine}) {
    line->on_steps(steps(5, 30, 3, 1));
    feed(*line, finished(0, 10, 40, 90, 5));
    feed(*line, finished(1, 11, 500, 520, 3));
    line->on_steps(steps(600, 7, 30));  // Ends after 810 ms.
  }
  const Series few = coarse.series();
  const Series many = fine.series();
  ASSERT_EQ(few.window, many.window * 2);
  EXPECT_EQ(few.window, Duration::milliseconds(16));
  for (std::size_t i = 0; i < few.windows.size(); ++i) {
    Window sum = many.windows[2 * i];
    if (2 * i + 1 < many.windows.size()) {
      sum.add(many.windows[2 * i + 1]);
    }
    EXPECT_EQ(few.windows[i], sum) << i;
  }
}

TEST(Timeline, DoesNotDependOnTheOrder) {
  const std::vector<domain::RequestRecord> records = {
      finished(0, 0, 10, 40, 4), finished(1, 20, 400, 800, 2), finished(2, 64, 90, 95, 7)};
  Timeline one = timeline();
  one.on_steps(steps(2, 5, 7));
  for (const auto& record : records) {
    feed(one, record);
  }
  Timeline other = timeline();
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    feed(other, *record);
  }
  other.on_steps(steps(2, 5, 7));
  EXPECT_EQ(one.series(), other.series());
}

TEST(Timeline, EveryPartOfTheTimeOfAStepIsSomewhere) {
  Timeline line = timeline();
  domain::StepRecord record = steps(0, 3, 100);
  record.period = Duration::ticks(33'333'333'331);
  record.time.by_bottleneck = {
      Duration::ticks(11'111'111'113), Duration::ticks(8), Duration::ticks(22'222'222'210), {}};
  line.on_steps(record);
  domain::StepTime sum;
  std::int64_t all = 0;
  for (const Window& window : line.series().windows) {
    EXPECT_LE(busy(window), 2 * kMs);
    all += busy(window);
    for (std::size_t kind = 0; kind < domain::kNumBottlenecks; ++kind) {
      sum.by_bottleneck[kind] += Duration::ticks(static_cast<std::int64_t>(window.busy[kind]));
    }
  }
  EXPECT_EQ(all, record.period.count() * 3);
  for (std::size_t kind = 0; kind < domain::kNumBottlenecks; ++kind) {
    EXPECT_EQ(sum.by_bottleneck[kind], record.time.by_bottleneck[kind] * 3);
  }
}

// Waits from 12 to 15 ms and from 22 to 25 ms: arrival, 2 ms on the way, 3 ms in the queue.
TEST(Timeline, WaitingIsFromTheQueueToTheFirstStep) {
  Timeline line = timeline();
  feed(line, finished(0, 10, 30, 60, 4));
  feed(line, finished(1, 20, 30, 300, 4));
  const Series series = line.series();
  ASSERT_EQ(series.window, Duration::milliseconds(8));
  core::Int128 sum = 0;
  for (const Window& window : series.windows) {
    sum += window.waiting;
  }
  EXPECT_EQ(sum, core::Int128{6} * kMs);
  EXPECT_EQ(series.windows[1].waiting, core::Int128{3} * kMs);
  EXPECT_EQ(series.windows[2].waiting, core::Int128{2} * kMs);  // 22 to 24.
  EXPECT_EQ(series.windows[3].waiting, core::Int128{1} * kMs);
}

TEST(Timeline, ALongWaitFillsTheWindowsBetween) {
  Timeline line = timeline();
  domain::RequestRecord record = finished(0, 0, 60, 63, 4);
  record.first_scheduled = at_ms(50);  // Queued at 2 ms.
  feed(line, record);
  const Series series = line.series();
  for (std::size_t i = 0; i < series.windows.size(); ++i) {
    EXPECT_EQ(series.windows[i].waiting, i >= 2 && i < 50 ? kMs : 0) << i;
  }
}

// TTFT 13 and 23 ms, E2E 44 and 64 ms: see recorder_test.cpp.
TEST(Timeline, TargetsAreCountedWhereARequestArrives) {
  TimelineOptions options{.windows = 64, .slo = {}};
  options.slo.limits[static_cast<std::size_t>(Metric::kTtft)] = Duration::milliseconds(20);
  options.slo.limits[static_cast<std::size_t>(Metric::kE2e)] = Duration::milliseconds(44);
  Timeline line(options);
  feed(line, finished(0, 0, 10, 40, 4), options.slo);
  feed(line, finished(1, 20, 40, 50, 2), options.slo);
  feed(line, testing::rejected(2, 20), options.slo);
  const Series series = line.series();
  ASSERT_EQ(series.window, Duration::milliseconds(1));
  EXPECT_EQ(series.windows[0].good, 1);
  EXPECT_EQ(series.windows[20].judged, 2);
  EXPECT_EQ(series.windows[20].good, 0);
  EXPECT_EQ(series.windows[20].within[static_cast<std::size_t>(Metric::kTtft)], 0);
  EXPECT_EQ(series.windows[20].within[static_cast<std::size_t>(Metric::kE2e)], 1);
  EXPECT_EQ(series.windows[20].arrivals, 2);
  EXPECT_EQ(series.windows[49].completions, 1);  // At the end of that window.
}

TEST(Timeline, RequestsOfTheWarmUpAreInTheGaugesAlone) {
  TimelineOptions options{.windows = 64, .slo = {}};
  options.warmup = at_ms(5);
  Timeline line(options);
  feed(line, finished(0, 0, 10, 40, 4));
  feed(line, finished(1, 6, 10, 40, 4));
  const Series series = line.series();
  EXPECT_EQ(series.windows[0].arrivals, 0);
  EXPECT_EQ(series.windows[6].arrivals, 1);
  EXPECT_EQ(series.windows[2].waiting, kMs);
  EXPECT_EQ(series.sample.size(), 1U);
}

}  // namespace
}  // namespace ridgeline::metrics
