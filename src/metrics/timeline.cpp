#include "metrics/timeline.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/int128.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/series.hpp"
#include "metrics/slo.hpp"
#include "metrics/step_run.hpp"

namespace ridgeline::metrics {
namespace {

/// When a request was over, as far as its record says.
std::int64_t end_of(const domain::RequestRecord& record) {
  for (const core::SimTime at : {record.last_token, record.failed, record.first_scheduled}) {
    if (at != core::SimTime::never()) {
      return std::max(at, record.arrival).count();
    }
  }
  return record.arrival.count();
}

}  // namespace

Timeline::Timeline(const TimelineOptions& options)
    : options_(options),
      windows_(options.windows),
      waiting_change_(options.windows + 1),
      picks_(options.seed) {
  RIDGELINE_CHECK(options.windows >= kLeastWindows && options.windows <= kMostWindows,
                  "timeline: a number of windows that it keeps");
  for (auto& histograms : latencies_) {
    histograms.resize((options.windows - 1) / Series::kWindowsPerHistogram + 1);
  }
}

void Timeline::on_request(const domain::RequestRecord& record,
                          const RequestLatency& latency,
                          const std::array<bool, kNumMetrics>& within) {
  const std::int64_t arrival = record.arrival.count();
  const std::int64_t ended = end_of(record);
  note(ended);
  static_cast<void>(window_of_arrival(arrival));  // Room for it, before a window is named.
  if (record.first_scheduled != core::SimTime::never()) {
    add_waiting(record.queued.count(), record.first_scheduled.count());
  }
  if (options_.warmup && record.arrival < *options_.warmup) {
    return;
  }
  const bool counts = completed(record.outcome);
  const std::size_t in_end = of_steps_.holds_end(ended) ? of_steps_.window : window_of_end(ended);
  const std::size_t in_arrival = window_of_arrival(arrival);
  windows_[in_end].completions += counts ? 1 : 0;
  windows_[in_end].preemptions += record.preemptions;
  Window& window = windows_[in_arrival];
  window.arrivals += 1;
  if (record.outcome != domain::Outcome::kUnfinished) {
    window.judged += 1;
  }
  if (!counts) {
    return;
  }
  if (options_.slo.any()) {
    bool good = true;
    for (std::size_t metric = 0; metric < kNumMetrics; ++metric) {
      window.within[metric] += within[metric] ? 1 : 0;
      good = good && within[metric];
    }
    window.good += good ? 1 : 0;
  }
  const std::size_t histogram = in_arrival / Series::kWindowsPerHistogram;
  add_latency(Latency::kTtft, histogram, latency.client_ttft);
  const auto tpot = tpot_of(record, latency);
  if (tpot) [[likely]] {
    add_latency(Latency::kTpot, histogram, *tpot);
  }
  add_latency(Latency::kE2e, histogram, latency.client_e2e);
  add_latency(Latency::kQueue, histogram, record.first_scheduled - record.queued);
  picks_.add(record, latency, tpot);
}

void Timeline::spread_steps(const StepRun& run, std::int64_t start, std::int64_t end) {
  const std::size_t last = window_of_end(end);
  const std::size_t first = start < end ? window_of(start) : last;
  of_steps_ = stretch_of(last);
  if (first == last) {
    run.add_steps(0, run.steps(), windows_[first]);
    return;
  }
  std::int64_t step = 0;
  std::int64_t at = start;  // The beginning of that step.
  while (step < run.steps()) {
    const std::int64_t window_end = begin_of(window_of(at) + 1);
    const std::int64_t next = run.steps_within(window_end - start, step);
    if (next > step) {
      // One that takes no time ends where it begins, which may be the end of the window before.
      const std::int64_t ends = start + run.length(next);
      run.add_steps(step, next, windows_[window_of_end(ends)]);
      step = next;
      at = ends;
      continue;
    }
    const std::int64_t period = run.period(step);
    for (std::int64_t done = 0; done < period;) {
      const std::size_t window = window_of(at + done);
      const std::int64_t until = std::min(begin_of(window + 1) - at, period);
      run.add_part(step, done, until, windows_[window]);
      done = until;
    }
    at += period;
    run.count_steps(step, step + 1, windows_[window_of_end(at)]);
    ++step;
  }
}

/// Whole windows between the first and the last are a change of level at each end.
void Timeline::spread_waiting(std::int64_t from, std::int64_t to) {
  if (to <= from) {
    return;
  }
  const std::size_t last = window_of_end(to);  // First: a later instant moves the windows.
  const std::size_t first = window_of(from);
  if (first == last) {
    windows_[first].waiting += to - from;
    return;
  }
  windows_[first].waiting += begin_of(first + 1) - from;
  windows_[last].waiting += to - begin_of(last);
  waiting_change_[first + 1] += 1;
  waiting_change_[last] -= 1;
}

/// Makes sums of the levels.
void Timeline::settle_waiting() {
  std::int64_t level = 0;
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    level += std::exchange(waiting_change_[i], 0);
    windows_[i].waiting += core::Int128{level} * length();
  }
}

void Timeline::double_length() {
  settle_waiting();
  const auto halve = [](auto& all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto sum = std::exchange(all[i], {});
      if (i % 2 == 0) {
        all[i / 2] = std::move(sum);
      } else {
        all[i / 2].add(sum);
      }
    }
  };
  halve(windows_);
  for (auto& histograms : latencies_) {
    halve(histograms);
  }
  ++doublings_;
  of_steps_ = {};
  of_arrivals_ = {};
}

Series Timeline::series() const {
  Timeline settled = *this;
  settled.settle_waiting();
  const std::size_t used = settled.window_of_end(end_) + 1;
  Series series;
  series.instances = options_.instances;
  series.window = core::Duration::ticks(settled.length());
  series.end = core::SimTime::at(core::Duration::ticks(end_));
  settled.windows_.resize(used);
  series.windows = std::move(settled.windows_);
  series.latencies = std::move(settled.latencies_);
  for (auto& histograms : series.latencies) {
    histograms.resize((used - 1) / Series::kWindowsPerHistogram + 1);
  }
  series.slo = options_.slo;
  picks_.fill(series);
  return series;
}

}  // namespace ridgeline::metrics
