#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/request_picks.hpp"
#include "metrics/series.hpp"
#include "metrics/slo.hpp"
#include "metrics/step_run.hpp"

namespace ridgeline::metrics {

struct TimelineOptions {
  std::size_t windows = 1024;  ///< At most; kLeastWindows to kMostWindows (checked).
  SloTargets slo;
  std::uint64_t seed = 0;  ///< Seed of the sample of requests.
  /// As RecorderOptions::warmup: requests before it are in the gauges alone.
  std::optional<core::SimTime> warmup = {};
  std::int64_t instances = 1;
};

/// Gathers a run over simulated time, in windows of equal length. When the run outgrows them,
/// neighbours are added up and the length doubles, so that memory does not follow the run: the
/// windows are the shortest of a millisecond times a power of two of which so many hold the run.
class Timeline {
 public:
  static constexpr std::size_t kLeastWindows = 64;
  static constexpr std::size_t kMostWindows = 4096;
  static constexpr std::size_t kUsualWindows = 1024;

  explicit Timeline(const TimelineOptions& options);

  /// The latencies are as measure() requires them. `within`, of a completed request: each target
  /// that it met.
  void on_request(const domain::RequestRecord& record,
                  const RequestLatency& latency,
                  const std::array<bool, kNumMetrics>& within);
  void on_steps(const domain::StepRecord& record) {
    const StepRun run(record);
    const std::int64_t start = record.start.count();
    const std::int64_t ticks = run.length(record.steps);
    const std::int64_t end = start + ticks;
    note(end);
    if (start >= of_steps_.begin && end <= of_steps_.end && start < end) [[likely]] {
      run.add_all(ticks, windows_[of_steps_.window]);
    } else {
      spread_steps(run, start, end);
    }
  }

  /// Series of all that came. The caller fills in the quantiles and the capacity.
  [[nodiscard]] Series series() const;

 private:
  /// The window that an instant lies in; one at a boundary belongs to the later. Makes room for it.
  [[nodiscard]] std::size_t window_of(std::int64_t ticks) {
    std::size_t index = static_cast<std::size_t>(ticks / Series::kShortest) >> doublings_;
    while (index >= windows_.size()) [[unlikely]] {
      double_length();
      index = static_cast<std::size_t>(ticks / Series::kShortest) >> doublings_;
    }
    return index;
  }
  /// The window that something ends in: one at a boundary belongs to the earlier.
  [[nodiscard]] std::size_t window_of_end(std::int64_t ticks) {
    return window_of(ticks > 0 ? ticks - 1 : 0);
  }
  [[nodiscard]] std::int64_t length() const { return Series::kShortest << doublings_; }
  [[nodiscard]] std::int64_t begin_of(std::size_t window) const {
    return static_cast<std::int64_t>(window) * length();
  }
  /// Adds steps that lie in another window than those before, or in several, or take no time.
  void spread_steps(const StepRun& run, std::int64_t start, std::int64_t end);
  void double_length();
  void settle_waiting();
  void add_waiting(std::int64_t from, std::int64_t to) {
    if (of_arrivals_.holds(from) && of_arrivals_.holds_end(to) && from < to) [[likely]] {
      windows_[of_arrivals_.window].waiting += to - from;
    } else {
      spread_waiting(from, to);
    }
  }
  void spread_waiting(std::int64_t from, std::int64_t to);
  void add_latency(Latency latency, std::size_t histogram, core::Duration value) {
    latencies_[static_cast<std::size_t>(latency)][histogram].add(value.count());
  }
  void note(std::int64_t ticks) { end_ = ticks > end_ ? ticks : end_; }

  TimelineOptions options_;
  unsigned doublings_ = 0;
  std::int64_t end_ = 0;
  std::vector<Window> windows_;
  /// A window, in ticks.
  struct Stretch {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::size_t window = 0;

    /// Whether window_of() and window_of_end() of an instant are this window. An empty one holds
    /// none.
    [[nodiscard]] bool holds(std::int64_t ticks) const { return ticks >= begin && ticks < end; }
    [[nodiscard]] bool holds_end(std::int64_t ticks) const { return ticks > begin && ticks <= end; }
  };
  [[nodiscard]] Stretch stretch_of(std::size_t window) const {
    return {.begin = begin_of(window), .end = begin_of(window + 1), .window = window};
  }
  /// As window_of(): where the request before arrived, the next one mostly does too.
  [[nodiscard]] std::size_t window_of_arrival(std::int64_t ticks) {
    if (!of_arrivals_.holds(ticks)) [[unlikely]] {
      const std::size_t window = window_of(ticks);
      of_arrivals_ = stretch_of(window);
    }
    return of_arrivals_.window;
  }
  Stretch of_steps_;     ///< That the last steps ended in: the next ones mostly lie in it too.
  Stretch of_arrivals_;  ///< That the last arrival was in, likely the next one's.
  /// Change of the number of waiting requests that wait throughout, from one window to the next.
  std::vector<std::int64_t> waiting_change_;
  std::array<std::vector<LatencyHistogram>, kNumLatencies> latencies_;
  RequestPicks picks_;
};

}  // namespace ridgeline::metrics
