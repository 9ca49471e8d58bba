#include "api/live_run.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

#include "api/clock.hpp"
#include "api/policies.hpp"
#include "api/simulate.hpp"
#include "api/tables.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/listeners.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/summary.hpp"
#include "report/run_result.hpp"
#include "ridgeline/ridgeline.hpp"
#include "scenario/resolve.hpp"
#include "sim/driver.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::api {
namespace {

/// Between two calls of a host's progress.
constexpr double kBetweenReports = 0.05;  // seconds

std::optional<double> milliseconds(const std::optional<core::Duration>& duration) {
  constexpr double kMillisecond = 1e-3;
  return duration ? std::optional(duration->to_seconds() / kMillisecond) : std::nullopt;
}

class RequestEnds final : public metrics::Listener {
 public:
  explicit RequestEnds(const std::function<void(const RequestEnd&)>& hook) : hook_(hook) {}

  void on_request(const domain::RequestRecord& record,
                  const metrics::RequestMetrics& metrics) override {
    hook_({.id = static_cast<std::int64_t>(record.id.value()),
           .outcome = metrics::kOutcomeNames[static_cast<std::size_t>(record.outcome)],
           .prompt_tokens = record.prompt_tokens.value(),
           .output_tokens = record.output_tokens.value(),
           .cached_tokens = record.cached_tokens.value(),
           .preemptions = record.preemptions,
           .arrival_ps = record.arrival.since_start().count(),
           .ttft_ms = milliseconds(metrics.ttft),
           .tpot_ms = milliseconds(metrics.tpot),
           .e2e_ms = milliseconds(metrics.e2e)});
  }

 private:
  const std::function<void(const RequestEnd&)>& hook_;
};

/// Asks the host whether to stop, and tells it how far the run is, at most so often.
class Contact {
 public:
  Contact(const Hooks& hooks, const HostPolicies* policies) : hooks_(hooks), policies_(policies) {
    ask();
  }

  void on_progress(const sim::Progress& progress) {
    ask();
    if (!hooks_.progress) {
      return;
    }
    if (!reports_.now()) {
      return;
    }
    hooks_.progress(
        {.simulated_s = progress.now.to_seconds(), .done = progress.done, .total = progress.total});
  }

  [[nodiscard]] const std::atomic<bool>& stop() const { return stop_; }

 private:
  void ask() {
    const bool failed = policies_ != nullptr && policies_->failure();
    if (failed || (hooks_.interrupted && hooks_.interrupted())) {
      stop_ = true;
    }
  }

  const Hooks& hooks_;
  const HostPolicies* policies_;
  AtMostEvery reports_{kBetweenReports};
  std::atomic<bool> stop_{false};
};

}  // namespace

bool has_workload(const scenario::WorkloadSection& workload) {
  return workload.request_rate || workload.max_concurrency || workload.trace ||
         workload.arrivals == "at-once";
}

core::Result<report::RunResult> live_run(const scenario::Resolved& resolved,
                                         const Hooks& hooks,
                                         const LiveOptions& options) {
  if (!has_workload(resolved.scenario().workload)) {
    return core::fail(
        core::Error{.field = "workload",
                    .message = "missing: a run needs request_rate, max_concurrency or trace"});
  }
  auto source = resolved.workload.open();
  if (!source) {
    return core::fail(source.error());
  }
  Contact contact(hooks, options.policies);
  RequestEnds ends(hooks.request);
  sim::RunControls controls;
  controls.interrupt = &contact.stop();
  controls.progress = [&](const sim::Progress& progress) { contact.on_progress(progress); };
  metrics::Listeners listeners;
  if (hooks.request) {
    listeners.add(&ends);
  }
  if (options.tables != nullptr) {
    listeners.add(options.tables);
  }
  controls.listener = listeners.empty() ? nullptr : &listeners;
  controls.series_windows = options.series_windows;
  if (options.policies == nullptr) {
    return api::simulate(resolved, **source, controls);
  }
  controls.host_parts = options.policies->parts();
  auto result = api::simulate(resolved, **source, controls);
  if (const auto& failure = options.policies->failure()) {
    return core::fail(*failure);
  }
  return result;
}

}  // namespace ridgeline::api
