#include "api/host.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "api/policies.hpp"
#include "api/tables.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/summary.hpp"
#include "ridgeline/ridgeline.hpp"
#include "sim/simulation.hpp"
#include "verbs/request.hpp"
#include "verbs/run.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::api {
namespace {

/// Between two calls of a host's progress in a run.
constexpr double kBetweenReports = 0.05;  // seconds

std::optional<double> milliseconds(const std::optional<core::Duration>& duration) {
  constexpr double kMillisecond = 1e-3;
  return duration ? std::optional(duration->to_seconds() / kMillisecond) : std::nullopt;
}

/// Asks the host while work goes on on other threads.
class ThreadWatch final : public verbs::Host::Watch {
 public:
  ThreadWatch(const Hooks& hooks, std::atomic<bool>& stop) {
    thread_ = std::thread([this, &hooks, &stop] {
      constexpr std::chrono::milliseconds kBetween(20);
      while (!over_) {
        if (hooks.interrupted()) {
          stop = true;
        }
        std::this_thread::sleep_for(kBetween);
      }
    });
  }
  ~ThreadWatch() override {
    over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

}  // namespace

/// Tells the host of each request.
class CallHost::RequestEnds final : public metrics::Listener {
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

CallHost::CallHost(const Hooks& hooks, const rl_hooks* policies)
    : hooks_(hooks), reports_(kBetweenReports) {
  if (policies != nullptr) {
    policies_.emplace(*policies);
    if (!policies_->any()) {
      policies_.reset();
    }
  }
}

CallHost::~CallHost() = default;

void CallHost::ask() {
  const bool failed = policies_ && policies_->failure();
  if (failed || (hooks_.interrupted && hooks_.interrupted())) {
    stop_ = true;
  }
}

void CallHost::progress(const sim::Progress& at) {
  ask();
  if (hooks_.progress && reports_.now()) {
    hooks_.progress({.simulated_s = at.now.to_seconds(), .done = at.done, .total = at.total});
  }
}

void CallHost::tell(std::int64_t done, std::int64_t total) {
  const std::lock_guard lock(mutex_);
  if (hooks_.progress) {
    hooks_.progress({.simulated_s = 0.0, .done = done, .total = total});
  }
}

void CallHost::progress(const verbs::Stage& at) {
  tell(at.done, at.all);
}

void CallHost::take(verbs::Request& request) {
  said_ = request.take("policies");
}

core::Result<void> CallHost::begin(const verbs::Run& run) {
  ask();
  if (hooks_.request) {
    ends_ = std::make_unique<RequestEnds>(hooks_.request);
    listeners_.add(ends_.get());
  }
  tables_ = std::make_shared<KeptTables>(run.kept);
  if (run.kept.any_rows()) {
    listeners_.add(tables_.get());
  }
  run.controls.listener = listeners_.empty() ? nullptr : &listeners_;
  if (policies_) {
    run.controls.host_parts = policies_->parts();
  }
  return {};
}

void CallHost::end(core::Result<verbs::RunResult>& result) {
  if (policies_ && policies_->failure()) {
    result = core::fail(*policies_->failure());
  } else if (policies_ && result) {
    policies_->tell(said_, *result);
  }
}

std::unique_ptr<verbs::Host::Watch> CallHost::watch(Work work) {
  return work == Work::kOnThreads && hooks_.interrupted
             ? std::make_unique<ThreadWatch>(hooks_, stop_)
             : nullptr;
}

}  // namespace ridgeline::api
