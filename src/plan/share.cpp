#include "plan/share.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/math.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/slo.hpp"
#include "plan/target.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::plan {
namespace {

double logit(double share) {
  return core::log(share / (1.0 - share));
}

/// Counts requests by target and batch as they end.
class Counter final : public metrics::Listener {
 public:
  Counter(const Targets& targets, const ShareOptions& options, core::SimTime from)
      : targets_(targets),
        batch_(std::max<std::int64_t>(1, options.batch)),
        first_(options.warm_up),
        from_(from) {
    counts_.resize(targets.size());
  }

  void on_request(const domain::RequestRecord& record,
                  const metrics::RequestMetrics& request) override {
    const std::int64_t number = std::int64_t{record.id.value()} - first_;
    if (number < 0 || record.arrival < from_) {
      return;
    }
    const auto at = static_cast<std::size_t>(number / batch_);
    const bool answered = metrics::completed(record.outcome);
    if (request.e2e) {
      e2e_s_ += request.e2e->to_seconds();
      ++answered_;
    }
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      auto& batches = counts_[i].batches;
      if (at >= batches.size()) {
        batches.resize(at + 1);
      }
      count(targets_[i], request, answered, batches[at]);
    }
  }

  [[nodiscard]] std::vector<TargetCounts> take() { return std::move(counts_); }
  [[nodiscard]] double mean_e2e_s() const {
    return e2e_s_ / core::real(std::max<std::int64_t>(1, answered_));
  }

 private:
  /// A request without an answer counts as one that took for ever.
  static void count(const Target& target,
                    const metrics::RequestMetrics& request,
                    bool answered,
                    BatchCount& batch) {
    if (!answered) {
      batch.requests += 1;
      batch.exceeded += 1;
      return;
    }
    if (!target.is_mean()) {
      batch.requests += 1;
      batch.exceeded += target.is_exceeded(request) ? 1 : 0;
      return;
    }
    if (const auto value = latency_of(request, target.metric())) {
      batch.requests += 1;
      batch.sum_s += value->to_seconds();
    }
  }

  const Targets& targets_;
  std::int64_t batch_;
  std::int64_t first_;
  core::SimTime from_;
  std::vector<TargetCounts> counts_;
  double e2e_s_ = 0.0;
  std::int64_t answered_ = 0;
};

}  // namespace

void BatchCount::add(const BatchCount& other) {
  requests += other.requests;
  exceeded += other.exceeded;
  sum_s += other.sum_s;
}

BatchCount TargetCounts::total() const {
  BatchCount sum;
  for (const BatchCount& batch : batches) {
    sum.add(batch);
  }
  return sum;
}

void set_load(scenario::WorkloadSection& workload, double load, double trace_rate) {
  if (workload.max_concurrency && !workload.request_rate && !workload.trace) {
    workload.max_concurrency =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(load)));
  } else if (workload.trace && !workload.request_rate) {
    workload.trace_speed_up =
        workload.trace_speed_up.value_or(1.0) * load / std::max(trace_rate, 1e-300);
  } else if (workload.trace) {  // It may be that of sessions.
    workload.request_rate = *workload.request_rate * load / std::max(trace_rate, 1e-300);
  } else {
    workload.request_rate = load;
  }
}

scenario::Resolved with_load(const scenario::Resolved& resolved, const ShareOptions& options) {
  scenario::Resolved run = resolved;
  scenario::WorkloadSection& workload = run.workload.section;
  set_load(workload, options.load, options.trace_rate);
  workload.num_prompts = options.requests;
  if (!workload.trace) {
    workload.duration.reset();
  }
  run.workload.seed = static_cast<std::int64_t>(options.seed);
  run.run.seed = run.workload.seed;
  run.run.warmup.reset();
  run.run.slo = {};
  if (options.instances > 1) {
    run.run.cluster.instances = options.instances;
    run.workload.ranks = 1;
  }
  return run;
}

core::Result<ShareRun> run_share(const scenario::Resolved& resolved,
                                 const Targets& targets,
                                 const ShareOptions& options,
                                 const std::atomic<bool>& interrupt) {
  sim::RunControls controls;
  controls.latencies = false;
  controls.interrupt = &interrupt;
  return count_run(with_load(resolved, options), targets, options, controls);
}

core::Result<ShareRun> count_run(const scenario::Resolved& run,
                                 const Targets& targets,
                                 const ShareOptions& options,
                                 sim::RunControls controls) {
  auto source = run.workload.open();
  if (!source) {
    return core::fail(std::move(source).error());
  }
  Counter counter(targets, options, core::SimTime::at(run.run.warmup.value_or(core::Duration())));
  controls.listener = &counter;
  auto outcome = sim::simulate(run, **source, controls);
  if (!outcome) {
    return core::fail(std::move(outcome).error());
  }
  const double think_s = run.workload.section.think_time.value_or(core::Duration()).to_seconds();
  return ShareRun{.targets = counter.take(),
                  .requests = outcome->summary.requests(),
                  .mean_cycle_s = counter.mean_e2e_s() + think_s,
                  .overloaded = outcome->summary.overload.has_value(),
                  .partial = outcome->partial,
                  .summary = std::move(outcome->summary)};
}

double margin_of(const Target& target, const BatchCount& count) {
  const auto requests = core::real(std::max<std::int64_t>(1, count.requests));
  if (target.is_mean()) {
    const auto limit = target.limit_of(target.metric());
    const double mean = count.exceeded > 0 ? HUGE_VAL : count.sum_s / requests;
    return mean > 0.0 ? std::min(core::log(mean / limit->to_seconds()), 700.0) : -700.0;
  }
  const double share = (core::real(count.exceeded) + 0.5) / (requests + 1.0);
  return logit(share) - logit(target.allowed_share);
}

std::vector<double> influences(const Target& target, const TargetCounts& counts) {
  const BatchCount total = counts.total();
  const auto requests = core::real(std::max<std::int64_t>(1, total.requests));
  const auto batches = core::real(static_cast<std::int64_t>(counts.batches.size()));
  std::vector<double> parts;
  parts.reserve(counts.batches.size());
  const double share = (core::real(total.exceeded) + 0.5) / (requests + 1.0);
  const double mean = total.sum_s / requests;
  for (const BatchCount& batch : counts.batches) {
    // By the size of the batch: the last one may be short.
    const double part = core::real(batch.requests) * batches / requests;
    const auto own = core::real(std::max<std::int64_t>(1, batch.requests));
    if (target.is_mean()) {
      parts.push_back(mean > 0.0 ? part * (batch.sum_s / own - mean) / mean : 0.0);
    } else {
      parts.push_back(part * (core::real(batch.exceeded) / own - share) / (share * (1.0 - share)));
    }
  }
  return parts;
}

std::optional<double> sd_of_mean(std::span<const double> batches) {
  if (batches.size() < 2) {
    return std::nullopt;
  }
  const auto count = core::real(static_cast<std::int64_t>(batches.size()));
  double sum = 0.0;
  for (const double value : batches) {
    sum += value;
  }
  double squares = 0.0;
  for (const double value : batches) {
    const double from_mean = value - sum / count;
    squares += from_mean * from_mean;
  }
  return std::sqrt(squares / (count - 1.0) / count);
}

}  // namespace ridgeline::plan
