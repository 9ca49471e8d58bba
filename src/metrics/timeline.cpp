#include "metrics/timeline.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
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
#include "metrics/summary.hpp"
#include "statistics/quantile_buckets.hpp"

namespace ridgeline::metrics {
namespace {

/// Bins of the quantiles between the exact ones: within 0.1 % of them, as
/// statistics::QuantileSketch.
using FineBins = statistics::LogBuckets<9>;

/// 0 to 0.9 evenly, then 36 to every further nine, to 0.9999, and the greatest: p50, p90, p95 and
/// p99 are among them.
std::vector<double> probabilities() {
  constexpr std::int64_t kBody = 160;
  constexpr std::int64_t kPerNine = 36;
  std::vector<double> all;
  for (std::int64_t i = 0; i <= kBody * 9 / 10; ++i) {
    all.push_back(static_cast<double>(i) / static_cast<double>(kBody));
  }
  // One minus a tenth, a hundredth, ... times 40/40, 39/40, ..., 4/40.
  for (std::int64_t scale = 400; scale <= 40'000; scale *= 10) {
    for (std::int64_t i = 1; i <= kPerNine; ++i) {
      all.push_back(static_cast<double>(scale - 40 + i) / static_cast<double>(scale));
    }
  }
  all.push_back(1.0);
  return all;
}

/// When a request was over, as far as its record says.
std::int64_t end_of(const domain::RequestRecord& record) {
  for (const core::SimTime at : {record.last_token, record.failed, record.first_scheduled}) {
    if (at != core::SimTime::never()) {
      return std::max(at, record.arrival).count();
    }
  }
  return record.arrival.count();
}

const std::optional<Distribution>& distribution_of(const Summary& summary, Latency latency) {
  switch (latency) {
    case Latency::kTtft:
      return summary.client.of(Metric::kTtft);
    case Latency::kTpot:
      return summary.client.of(Metric::kTpot);
    case Latency::kE2e:
      return summary.client.of(Metric::kE2e);
    case Latency::kQueue:
      break;
  }
  return summary.queue_time_ms;
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

void Timeline::on_request(const domain::RequestRecord& record, const RequestMetrics& metrics) {
  const std::int64_t ended = end_of(record);
  note(std::max(record.arrival.count(), ended));
  if (record.first_scheduled != core::SimTime::never()) {
    add_waiting(record.queued.count(), record.first_scheduled.count());
  }
  if (options_.warmup && record.arrival < *options_.warmup) {
    return;
  }
  const bool counts = completed(record.outcome);
  static_cast<void>(window_of(record.arrival.count()));  // Room for both, before either is named.
  const std::size_t in_end = window_of_end(ended);
  const std::size_t in_arrival = window_of(record.arrival.count());
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
    const auto within = within_limits(options_.slo, metrics);
    for (std::size_t metric = 0; metric < kNumMetrics; ++metric) {
      window.within[metric] += within[metric] ? 1 : 0;
      good = good && within[metric];
    }
    window.good += good ? 1 : 0;
  }
  const std::size_t histogram = in_arrival / Series::kWindowsPerHistogram;
  for (const auto& [latency, value] : {std::pair{Latency::kTtft, metrics.ttft},
                                       std::pair{Latency::kTpot, metrics.tpot},
                                       std::pair{Latency::kE2e, metrics.e2e},
                                       std::pair{Latency::kQueue, metrics.queue_time}}) {
    if (value) {
      add_latency(latency, histogram, *value);
    }
  }
  picks_.add(record, metrics);
}

void Timeline::add_latency(Latency latency, std::size_t histogram, core::Duration value) {
  const auto number = static_cast<std::size_t>(latency);
  latencies_[number][histogram].add(value.count());
  fine_[number].add(value.count());
}

void Timeline::on_steps(const domain::StepRecord& record) {
  const StepRun run(record);
  const std::int64_t start = record.start.count();
  const std::int64_t end = start + run.length(record.steps);
  note(end);
  const std::size_t last = window_of_end(end);
  const std::size_t first = start < end ? window_of(start) : last;
  if (first == last) [[likely]] {
    run.add_steps(0, record.steps, windows_[first]);
    return;
  }
  std::int64_t step = 0;
  std::int64_t at = start;  // The beginning of that step.
  while (step < record.steps) {
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
void Timeline::add_waiting(std::int64_t from, std::int64_t to) {
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
}

void Timeline::Fine::add(std::int64_t ticks) {
  const std::size_t bin = FineBins::of(static_cast<std::uint64_t>(ticks));
  if (bin >= counts.size()) [[unlikely]] {
    counts.resize(bin + 1);
  }
  ++counts[bin];
  least = number == 0 ? ticks : std::min(least, ticks);
  greatest = std::max(greatest, ticks);
  ++number;
}

std::vector<double> Timeline::Fine::quantiles_ms(const std::vector<double>& probabilities,
                                                 const Distribution& exact) const {
  std::vector<double> all;
  std::size_t bin = 0;
  std::int64_t before = 0;  // Requests in the bins before it.
  for (const double probability : probabilities) {
    const auto index = static_cast<std::int64_t>(probability * static_cast<double>(number - 1));
    while (before + counts[bin] <= index) {
      before += counts[bin++];
    }
    const auto middle = static_cast<std::int64_t>((FineBins::first(bin) + FineBins::last(bin)) / 2);
    all.push_back(core::Duration::ticks(std::clamp(middle, least, greatest)).to_milliseconds());
  }
  constexpr auto kExact = std::to_array<std::pair<double, Statistic>>({{0.5, Statistic::kP50},
                                                                       {0.9, Statistic::kP90},
                                                                       {0.95, Statistic::kP95},
                                                                       {0.99, Statistic::kP99},
                                                                       {1.0, Statistic::kMax}});
  for (const auto& [probability, statistic] : kExact) {
    const double value = exact.of(statistic);
    const auto place = std::ranges::find(probabilities, probability) - probabilities.begin();
    const std::span<double> values = all;
    const auto at = static_cast<std::size_t>(place);
    for (double& less : values.first(at)) {
      less = std::min(less, value);
    }
    for (double& greater : values.subspan(at)) {
      greater = std::max(greater, value);
    }
    values[at] = value;
  }
  return all;
}

Series Timeline::series(const Summary& summary) const {
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
  series.probabilities = probabilities();
  for (std::size_t latency = 0; latency < kNumLatencies; ++latency) {
    series.latencies[latency].resize((used - 1) / Series::kWindowsPerHistogram + 1);
    const auto& exact = distribution_of(summary, static_cast<Latency>(latency));
    if (exact && fine_[latency].number > 0) {
      series.quantiles_ms[latency] = fine_[latency].quantiles_ms(series.probabilities, *exact);
    }
  }
  series.slo = options_.slo;
  picks_.fill(series);
  return series;
}

}  // namespace ridgeline::metrics
