#include "plan/certify.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/math.hpp"
#include "core/result.hpp"
#include "core/statistics/quantile_sketch.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "plan/answer.hpp"
#include "plan/share.hpp"
#include "plan/target.hpp"
#include "scenario/resolve.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::plan {
namespace {

/// Halvings of [0, 1]: to 10^-12.
constexpr int kHalvingsOfTail = 40;
/// The interval runs from the tenth to the ninetieth percentile of the windows' values.
constexpr double kLow = 0.1;
constexpr double kHigh = 0.9;

/// Judges windows of consecutive arrivals as their requests end.
class Windows final : public metrics::Listener {
 public:
  Windows(const Targets& targets, const CertifyOptions& options, const std::atomic<bool>& interrupt)
      : targets_(targets), options_(options), interrupt_(interrupt) {
    windows_.resize(static_cast<std::size_t>(options.windows));
    for (Window& window : windows_) {
      window.counts.resize(targets.size());
      window.values.resize(targets.size());
      window.statistic_ms.resize(targets.size());
    }
    all_.resize(targets.size());
    const double share = core::real(options.windows) * (1.0 - options.confidence);
    // A whole number of windows may fail, though 0.1 * 10 is a little less than 1 in binary.
    constexpr double kRounding = 1e-9;
    may_fail_ = static_cast<std::int64_t>(std::floor(share + kRounding));
  }

  void on_request(const domain::RequestRecord& record,
                  const metrics::RequestMetrics& request) override {
    const auto at = static_cast<std::size_t>(record.id.value()) /
                    static_cast<std::size_t>(options_.window_requests);
    if (interrupt_.load(std::memory_order_relaxed)) {
      stop_ = true;
    }
    if (at >= windows_.size()) {
      return;
    }
    Window& window = windows_[at];
    ++window.ended;
    const bool answered = metrics::completed(record.outcome);
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      add(targets_[i], request, answered, window, i);
    }
    if (!window.failed && has_failed(window)) {
      window.failed = true;
      if (++failed_ > may_fail_) {
        stop_ = true;
      }
    }
    if (window.ended == options_.window_requests) {
      close(window);
    }
  }

  [[nodiscard]] const std::atomic<bool>& stop() const { return stop_; }
  [[nodiscard]] bool is_cut_short() const { return failed_ > may_fail_; }
  [[nodiscard]] std::int64_t failed() const { return failed_; }

  /// Means are known when a window has ended.
  void judge_means() {
    for (Window& window : windows_) {
      for (std::size_t i = 0; i < targets_.size() && !window.failed; ++i) {
        if (targets_[i].is_mean() && window.counts[i].requests > 0 &&
            margin_of(targets_[i], window.counts[i]) > 0.0) {
          window.failed = true;
          ++failed_;
        }
      }
    }
  }

  [[nodiscard]] TargetResult result(std::size_t i) {
    const Target& target = targets_[i];
    TargetResult result{.target = i, .value_ms = std::nullopt, .exceed_share = 0.0, .met = false};
    BatchCount total;
    std::vector<double> of_windows;
    for (Window& window : windows_) {
      close(window);
      total.add(window.counts[i]);
      if (window.statistic_ms[i]) {
        of_windows.push_back(*window.statistic_ms[i]);
      }
    }
    result.exceed_share =
        core::real(total.exceeded) / core::real(std::max<std::int64_t>(1, total.requests));
    if (!of_windows.empty()) {
      std::ranges::sort(of_windows);
      const double value = target.is_mean() ? all_[i].moments().mean()
                                            : all_[i].quantile(1.0 - target.allowed_share);
      result.value_ms = Interval{
          .value = milliseconds(value), .lo = of(of_windows, kLow), .hi = of(of_windows, kHigh)};
    }
    result.met = target.is_mean()
                     ? result.value_ms && result.value_ms->value <=
                                              target.limit_of(target.metric())->to_milliseconds()
                     : result.exceed_share <= target.allowed_share;
    return result;
  }

 private:
  struct Window {
    std::vector<BatchCount> counts;
    /// Ticks of each request, by target; of an attainment none. Empty in a window that is closed.
    std::vector<std::vector<std::int64_t>> values;
    std::vector<std::optional<double>> statistic_ms;  ///< By target, of a window that is closed.
    std::int64_t ended = 0;
    bool failed = false;
  };

  static double milliseconds(double ticks) {
    return ticks * core::Duration::ticks(1).to_milliseconds();
  }

  /// Keeps of a window's requests its statistics, and their values in a sketch of all windows:
  /// few windows are open at once, and their requests are most of what a plan holds.
  void close(Window& window) {
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      const std::vector<std::int64_t> values = std::exchange(window.values[i], {});
      if (values.empty()) {
        continue;
      }
      for (const std::int64_t value : values) {
        all_[i].add(value);
      }
      window.statistic_ms[i] = milliseconds(statistic(targets_[i], values));
    }
  }

  static double of(const std::vector<double>& sorted, double share) {
    const double at = share * core::real(static_cast<std::int64_t>(sorted.size()) - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - std::floor(at)) * (sorted[above] - sorted[below]);
  }

  /// In ticks.
  static double statistic(const Target& target, const std::vector<std::int64_t>& values) {
    std::vector<double> sorted(values.size());
    std::ranges::transform(values, sorted.begin(), core::real);
    if (target.is_mean()) {
      return std::accumulate(sorted.begin(), sorted.end(), 0.0) /
             core::real(static_cast<std::int64_t>(sorted.size()));
    }
    std::ranges::sort(sorted);
    return of(sorted, 1.0 - target.allowed_share);
  }

  static void add(const Target& target,
                  const metrics::RequestMetrics& request,
                  bool answered,
                  Window& window,
                  std::size_t i) {
    BatchCount& count = window.counts[i];
    if (!answered) {
      count.requests += 1;
      count.exceeded += 1;
      return;
    }
    const auto value = latency_of(request, target.metric());
    if (target.is_mean()) {
      if (value) {
        count.requests += 1;
        count.sum_s += value->to_seconds();
        window.values[i].push_back(value->count());
      }
      return;
    }
    count.requests += 1;
    count.exceeded += target.is_exceeded(request) ? 1 : 0;
    if (value && !target.is_attainment) {
      window.values[i].push_back(value->count());
    }
  }

  /// More requests above a limit than the whole window may have.
  [[nodiscard]] bool has_failed(const Window& window) const {
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      const double allowed = targets_[i].is_mean()
                                 ? 0.0
                                 : targets_[i].allowed_share * core::real(options_.window_requests);
      if (core::real(window.counts[i].exceeded) > allowed) {
        return true;
      }
    }
    return false;
  }

  const Targets& targets_;
  const CertifyOptions& options_;
  const std::atomic<bool>& interrupt_;
  std::vector<Window> windows_;
  std::vector<statistics::QuantileSketch> all_;  ///< By target, of the windows that are closed.
  std::int64_t may_fail_ = 0;
  std::int64_t failed_ = 0;
  std::atomic<bool> stop_ = false;
};

/// With so much confidence windows that all pass certify theirs.
constexpr double kCertainty = 0.05;
constexpr std::int64_t kMostWindows = 300;
constexpr double kWindowSeconds = 3'600.0;
constexpr double kLeastWindow = 10'000.0;
constexpr double kMostWindow = 50'000.0;

/// log(n choose k)
double log_choose(std::int64_t n, std::int64_t k) {
  double sum = 0.0;
  for (std::int64_t i = 1; i <= k; ++i) {
    sum += core::log(core::real(n - k + i)) - core::log(core::real(i));
  }
  return sum;
}

/// P(X >= passed) of a binomial.
double at_least(std::int64_t passed, std::int64_t windows, double p) {
  double sum = 0.0;
  for (std::int64_t k = passed; k <= windows; ++k) {
    const double hits = k > 0 ? core::real(k) * core::log(p) : 0.0;
    const double misses = k < windows ? core::real(windows - k) * core::log(1.0 - p) : 0.0;
    sum += core::exp(log_choose(windows, k) + hits + misses);
  }
  return sum;
}

/// What a run says beside its targets.
void take_run(const metrics::Summary& summary, Certification& found) {
  found.requests = summary.requests();
  found.unstable = summary.overload.has_value();
  found.power = summary.power;
  found.output_tokens_per_second = summary.output_throughput.value_or(0.0);
  const double busy = summary.busy.to_seconds();
  for (std::size_t i = 0; i < domain::kNumBottlenecks; ++i) {
    found.bottlenecks[i] = busy > 0.0 ? summary.time_by_bottleneck[i].to_seconds() / busy : 0.0;
  }
}

/// How a run keeps a target, in its own statistic and in the share of its requests.
TargetResult whole_result(std::size_t number,
                          const Target& target,
                          const BatchCount& count,
                          const metrics::LatencySummary& latencies) {
  TargetResult result{
      .target = number, .value_ms = std::nullopt, .exceed_share = 0.0, .met = false};
  result.exceed_share =
      core::real(count.exceeded) / core::real(std::max<std::int64_t>(1, count.requests));
  result.met = result.exceed_share <= (target.is_mean() ? 0.0 : target.allowed_share);
  if (target.is_attainment) {
    return result;
  }
  if (const auto& found = latencies.of(target.metric())) {
    const double value = found->of(target.statistic);
    result.value_ms = Interval{.value = value, .lo = value, .hi = value};
    result.met = result.met && value <= target.limit_of(target.metric())->to_milliseconds();
  }
  return result;
}

}  // namespace

double clopper_pearson(std::int64_t passed, std::int64_t windows, double confidence) {
  if (passed <= 0) {
    return 0.0;
  }
  double low = 0.0;
  double high = 1.0;
  for (int i = 0; i < kHalvingsOfTail; ++i) {
    const double middle = (low + high) / 2.0;
    (at_least(passed, windows, middle) < 1.0 - confidence ? low : high) = middle;
  }
  return low;
}

core::Result<std::optional<Certification>> certify(const scenario::Resolved& resolved,
                                                   const Targets& targets,
                                                   const CertifyOptions& options,
                                                   const std::atomic<bool>& interrupt) {
  scenario::Resolved run = with_load(resolved,
                                     {.load = options.load,
                                      .requests = options.windows * options.window_requests,
                                      .seed = options.seed,
                                      .instances = options.instances,
                                      .trace_rate = options.trace_rate});
  auto source = run.workload.open();
  if (!source) {
    return core::fail(std::move(source).error());
  }
  return certify_run(run, **source, targets, options, interrupt);
}

core::Result<std::optional<Certification>> certify_run(const scenario::Resolved& run,
                                                       workload::Source& source,
                                                       const Targets& targets,
                                                       const CertifyOptions& options,
                                                       const std::atomic<bool>& interrupt) {
  Windows windows(targets, options, interrupt);
  sim::RunControls controls;
  controls.latencies = false;
  controls.interrupt = &windows.stop();
  controls.listener = &windows;
  const auto outcome = sim::simulate(run, source, controls);
  if (!outcome) {
    return core::fail(outcome.error());
  }
  if (interrupt) {
    return std::nullopt;
  }
  Certification found;
  const bool cut_short = windows.is_cut_short();
  windows.judge_means();
  Certificate& certificate = found.certificate;
  certificate.windows = options.windows;
  certificate.window_requests = options.window_requests;
  certificate.passed = cut_short ? 0 : options.windows - windows.failed();
  certificate.holds = !windows.is_cut_short();
  constexpr double kConfidence = 0.95;  // planner.md, section 6
  certificate.at_least = clopper_pearson(certificate.passed, certificate.windows, kConfidence);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    found.targets.push_back(windows.result(i));
  }
  take_run(outcome->summary, found);
  return found;
}

core::Result<std::optional<Certification>> run_whole(const scenario::Resolved& run,
                                                     const Targets& targets,
                                                     const std::atomic<bool>& interrupt) {
  sim::RunControls controls;
  controls.interrupt = &interrupt;
  const ShareOptions one_batch{.batch = std::numeric_limits<std::int64_t>::max()};
  const auto outcome = count_run(run, targets, one_batch, std::move(controls));
  if (!outcome) {
    return core::fail(outcome.error());
  }
  if (interrupt) {
    return std::nullopt;
  }
  Certification found;
  found.certificate.holds = true;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    found.targets.push_back(
        whole_result(i, targets[i], outcome->targets[i].total(), outcome->summary.client));
    found.certificate.holds = found.certificate.holds && found.targets.back().met;
  }
  take_run(outcome->summary, found);
  return found;
}

void take_windows(Certification& run, const Certification& windows) {
  run.certificate = windows.certificate;
  run.requests += windows.requests;
  for (std::size_t i = 0; i < run.targets.size(); ++i) {
    const auto& of_windows = windows.targets[i].value_ms;
    if (auto& value = run.targets[i].value_ms; value && of_windows) {
      value->lo = of_windows->lo;
      value->hi = of_windows->hi;
    }
  }
}

std::int64_t certifying_windows(double confidence) {
  const double windows = std::ceil(core::log(kCertainty) / core::log(confidence));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(windows), kWindows, kMostWindows);
}

core::Warning short_trace_warning(const Certificate& certificate, double confidence) {
  return {.code = "W-short-trace",
          .message = fmt::format("{} windows of {} requests are all that the trace has, the cold "
                                 "start in the first: they certify that {:.0f} % of windows meet "
                                 "every target, where {:.3g} % were asked for",
                                 certificate.windows,
                                 certificate.window_requests,
                                 certificate.at_least * 100.0,
                                 confidence * 100.0),
          .hint = "a longer trace; a load that goes on, by --request-rate, may need less"};
}

std::int64_t usual_window(double rate, const std::optional<core::Duration>& window, Effort effort) {
  const double stated = window ? window->to_seconds() * rate : 0.0;
  const double hour = std::clamp(kWindowSeconds * rate,
                                 kLeastWindow,
                                 std::max(kLeastWindow, kMostWindow * multiple_of(effort)));
  return std::max<std::int64_t>(1, std::llround(stated > 0.0 ? stated : hour));
}

}  // namespace ridgeline::plan
