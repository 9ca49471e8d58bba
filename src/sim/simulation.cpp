#include "sim/simulation.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/ids.hpp"
#include "core/queue_growth.hpp"
#include "core/result.hpp"
#include "core/ring.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/label_set.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/engine.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "latency/step_time_model.hpp"
#include "metrics/recorder.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "sim/driver.hpp"
#include "sim/horizon.hpp"
#include "sim/logged_model.hpp"
#include "sim/resolve.hpp"
#include "sim/scenario.hpp"
#include "sim/step_watch.hpp"
#include "workload/carried.hpp"
#include "workload/item.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {

namespace {

metrics::RecorderOptions recorder_options(const Scenario& scenario,
                                          const workload::Source& source,
                                          metrics::Listener* listener) {
  metrics::RecorderOptions options;
  options.label_sets = source.label_sets();
  options.open_loop = !source.is_closed_loop();
  options.held_back = source.held_back();
  options.percentiles = scenario.percentiles == "sketch" ? metrics::Percentiles::kSketch
                                                         : metrics::Percentiles::kExact;
  options.listener = listener;
  const auto limit = [&](metrics::Metric metric) -> std::optional<core::Duration>& {
    return options.slo.limits[static_cast<std::size_t>(metric)];
  };
  limit(metrics::Metric::kTtft) = scenario.slo.ttft;
  limit(metrics::Metric::kTpot) = scenario.slo.tpot;
  limit(metrics::Metric::kItl) = scenario.slo.itl;
  limit(metrics::Metric::kE2e) = scenario.slo.e2e;
  const auto& names = metrics::kStatisticNames;
  const auto* const named = std::ranges::find(names, scenario.slo.statistic.value_or("p99"));
  options.slo.statistic = static_cast<metrics::Statistic>(named - names.begin());
  return options;
}

metrics::EngineCounts counts_of(const engine::EngineTotals& totals,
                                const engine::EngineOptions& options) {
  return {.steps = totals.steps,
          .step_time = totals.step_time,
          .busy = totals.busy,
          .prefix_queries = totals.prefix_queries,
          .prefix_hits = totals.prefix_hits,
          .kv_blocks = options.num_gpu_blocks - core::Blocks(1),  // the null block holds no tokens
          .peak_used_blocks = totals.peak_used_blocks,
          .used_block_seconds = totals.used_block_seconds};
}

/// The totals that are part of the digest: all that do not depend on how steps were advanced.
std::vector<std::int64_t> digest_totals(const engine::EngineTotals& totals) {
  std::vector<std::int64_t> numbers = {totals.steps,
                                       totals.preemptions,
                                       totals.step_time.cpu.count(),
                                       totals.busy.count(),
                                       totals.prefix_queries.value(),
                                       totals.prefix_hits.value(),
                                       totals.peak_used_blocks.value()};
  for (const auto part : totals.step_time.by_bottleneck) {
    numbers.push_back(part.count());
  }
  return numbers;
}

/// What happened to requests that a user may not expect.
void warn_of_outcomes(const Resolved& resolved,
                      const metrics::Summary& summary,
                      core::Warnings& warnings) {
  const auto& options = resolved.engine;
  if (const std::int64_t rejected = summary.count(domain::Outcome::kRejected); rejected > 0) {
    warnings.push_back(
        {.code = "W-rejected",
         .message = fmt::format(
             "{} requests were rejected: their prompt is longer than max_model_len {} or than "
             "the KV cache",
             rejected,
             options.max_model_len.value()),
         .hint = "--max-model-len, --gpu-memory-utilization, --tensor-parallel-size"});
  }
  if (const std::int64_t capped = summary.count(domain::Outcome::kLengthCapped); capped > 0) {
    warnings.push_back({.code = "W-length-capped",
                        .message = fmt::format("{} requests were cut short by max_model_len {}",
                                               capped,
                                               options.max_model_len.value()),
                        .hint = "--max-model-len"});
  }
}

/// What requests carry and this run does not heed.
void warn_of_carried(const Resolved& resolved,
                     const workload::Carried& carried,
                     core::Warnings& warnings) {
  const auto& options = resolved.engine;
  const auto warn = [&](std::string_view code, std::string message, std::string hint) {
    warnings.push_back(
        {.code = std::string(code), .message = std::move(message), .hint = std::move(hint)});
  };
  if (carried.with_priority > 0 && options.policy == engine::SchedulingPolicy::kFcfs) {
    warn("W-ignored-priority",
         fmt::format("{} of {} requests carry a priority, which scheduling_policy fcfs ignores",
                     carried.with_priority,
                     carried.requests),
         "--scheduling-policy priority");
  }
  if (carried.with_adapter > 0 && options.max_loras == 0) {
    warn("W-ignored-adapter",
         fmt::format("{} of {} requests name one of {} adapters: with enable_lora off they run as "
                     "the network itself, with KV blocks of their own",
                     carried.with_adapter,
                     carried.requests,
                     carried.adapters.size()),
         fmt::format("--enable-lora --max-loras {}", carried.adapters.size()));
  }
  if (carried.models.size() > 1) {
    constexpr std::size_t kMostNamed = 3;
    const std::span<const std::string> named(carried.models.data(),
                                             std::min(carried.models.size(), kMostNamed));
    warn("W-ignored-model",
         fmt::format("requests name {} models ({}{}): all of them run on {}",
                     carried.models.size(),
                     fmt::join(named, ", "),
                     carried.models.size() > kMostNamed ? ", ..." : "",
                     resolved.network.name),
         {});
  }
  if (carried.with_media > 0) {
    warn("W-unpriced-media",
         fmt::format("{} of {} requests carry images, audios or videos: their tokens are part of "
                     "the prompt, but encoding them takes no time",
                     carried.with_media,
                     carried.requests),
         {});
  }
}

void warn_of_overload(const Resolved& resolved,
                      const metrics::Summary& summary,
                      core::Warnings& warnings) {
  if (!summary.overload) {
    return;
  }
  const core::Backlog& backlog = summary.overload->backlog;
  const std::int64_t ranks = resolved.scenario.engine.data_parallel_size;
  const bool at_client = summary.overload->at_client;
  const std::string_view consequence =
      at_client           ? "they wait at the client, which no latency counts"
      : backlog.whole_run ? "every latency depends on how long the run is"
                          : "latencies depend on how long that lasts";
  const std::string_view more_capacity = at_client ? ", or a higher --max-concurrency"
                                         : resolved.engine.max_loras > 0
                                             ? ", or a higher --max-loras"
                                             : "";
  warnings.push_back(
      {.code = "W-overloaded",
       .message = fmt::format(
           "{}requests come faster than they are served: the wait grows by {:.2g} s per second, "
           "about {:.4g} of {:.4g} req/s are sustainable{}, and {}",
           backlog.whole_run
               ? ""
               : fmt::format("from {:.4g} s to {:.4g} s ", backlog.begin_s, backlog.end_s),
           backlog.wait_growth,
           backlog.sustainable_rate,
           backlog.offered_rate,
           ranks > 1 ? fmt::format(" by each of {} ranks", ranks) : "",
           consequence),
       .hint = fmt::format("fewer requests per second, or more capacity{}", more_capacity)});
}

/// What a result calls the values of labels, which are numbers so far.
void name_groups(const workload::Labels& labels, metrics::Summary& summary) {
  for (metrics::GroupSummary& group : summary.groups) {
    if (group.value == domain::LabelSet::kOther) {
      group.name = "(other)";
    } else if (group.label == domain::Label::kPriority) {
      group.name = fmt::format("{}", group.value);
    } else if (group.value != domain::LabelSet::kNoLabel) {
      group.name = labels.name(group.value);
    }
  }
}

}  // namespace

core::Result<RunOutcome> simulate(const Resolved& resolved,
                                  workload::Source& source,
                                  const RunControls& controls) {
  metrics::Recorder recorder(recorder_options(resolved.scenario, source, controls.listener));
  const LoggedModel logged(*resolved.latency);
  const latency::StepTimeModel& model = resolved.latency->logs()
                                            ? static_cast<const latency::StepTimeModel&>(logged)
                                            : *resolved.latency;
  StepWatch watch(model);
  engine::EngineOptions options = resolved.engine;
  const bool wanted = controls.listener != nullptr && controls.listener->needs_steps();
  options.log_steps = options.log_steps || wanted || controls.steps != nullptr;
  Driver driver({.source = source,
                 .path = resolved.path,
                 .recorder = recorder,
                 .interrupt = controls.interrupt,
                 .progress = controls.progress,
                 .listener = controls.listener,
                 .steps = controls.steps,
                 .watch = &watch});
  engine::Instance instance(
      {.engine = {.options = options,
                  .model = controls.steps == nullptr
                               ? model
                               : static_cast<const latency::StepTimeModel&>(watch),
                  .host = resolved.host,
                  .sink = driver,
                  .horizon = last_step_end(resolved.path)},
       .path = resolved.path,
       .id = core::InstanceId(0),
       .core = controls.core,
       .jump = controls.jump});
  const Driver::End end = driver.run(instance);
  if (end == Driver::End::kPastHorizon) {
    return core::fail(past_horizon(resolved, recorder.num_completed(), source.size()));
  }
  if (!source.errors().empty()) {
    return core::fail(source.errors());
  }
  RunOutcome outcome;
  outcome.partial = end == Driver::End::kInterrupted;
  outcome.totals = instance.totals();
  outcome.of_other_ranks = source.of_other_ranks();
  outcome.summary = recorder.summarise(counts_of(outcome.totals, resolved.engine));
  name_groups(source.labels(), outcome.summary);
  outcome.digest = recorder.digest(digest_totals(outcome.totals));
  outcome.warnings = recorder.warnings();
  warn_of_outcomes(resolved, outcome.summary, outcome.warnings);
  warn_of_overload(resolved, outcome.summary, outcome.warnings);
  warn_of_carried(resolved, source.carried(), outcome.warnings);
  const auto findings = resolved.latency->findings(logged.lookups());
  outcome.warnings.insert(outcome.warnings.end(), findings.begin(), findings.end());
  for (auto& warning : source.warnings()) {
    // What a comparison with another simulator needs to know is told to those who compare.
    if (!warning.code.starts_with(workload::kBlisWarning) || resolved.scenario.compat == "blis") {
      outcome.warnings.push_back(std::move(warning));
    }
  }
  return outcome;
}

}  // namespace ridgeline::sim
