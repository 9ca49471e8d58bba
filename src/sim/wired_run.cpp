#include "sim/wired_run.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster/cluster.hpp"
#include "cluster/part.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/label_set.hpp"
#include "domain/request.hpp"
#include "domain/tenants.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "engine/server.hpp"
#include "latency/step_time_model.hpp"
#include "metrics/recorder.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "metrics/timeline.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "sim/cache_state.hpp"
#include "sim/driver.hpp"
#include "sim/fleet.hpp"
#include "sim/fleet_admission.hpp"
#include "sim/fleet_disaggregation.hpp"
#include "sim/fleet_offload.hpp"
#include "sim/fleet_pools.hpp"
#include "sim/front_end.hpp"
#include "sim/horizon.hpp"
#include "sim/logged_model.hpp"
#include "sim/operations.hpp"
#include "sim/power.hpp"
#include "sim/run_warnings.hpp"
#include "sim/series.hpp"
#include "sim/simulation.hpp"
#include "sim/step_watch.hpp"
#include "workload/item.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {

namespace {

metrics::RecorderOptions recorder_options(const scenario::Resolved& resolved,
                                          const workload::Source& source,
                                          const RunControls& controls) {
  metrics::RecorderOptions options;
  options.label_sets = source.label_sets();
  options.open_loop = !source.is_closed_loop();
  options.of_trace = resolved.workload.section.trace.has_value();
  options.held_back = source.held_back();
  options.measured_from = source.measured_from();
  options.percentiles = resolved.run.percentiles == "sketch" ? metrics::Percentiles::kSketch
                                                             : metrics::Percentiles::kExact;
  if (!controls.latencies) {
    options.percentiles = metrics::Percentiles::kNone;
  }
  options.listener = controls.listener;
  options.instances = num_places(resolved);
  options.pools = pools_of_instances(resolved);
  if (resolved.run.warmup) {
    options.warmup = core::SimTime::at(*resolved.run.warmup);
  }
  options.gateway_queues = resolved.run.cluster.admission.flow_control.value_or(false);
  const auto limit = [&](metrics::Metric metric) -> std::optional<core::Duration>& {
    return options.slo.limits[static_cast<std::size_t>(metric)];
  };
  limit(metrics::Metric::kTtft) = resolved.run.slo.ttft;
  limit(metrics::Metric::kTpot) = resolved.run.slo.tpot;
  limit(metrics::Metric::kItl) = resolved.run.slo.itl;
  limit(metrics::Metric::kE2e) = resolved.run.slo.e2e;
  const auto& names = metrics::kStatisticNames;
  const auto* const named = std::ranges::find(names, resolved.run.slo.statistic.value_or("p99"));
  options.slo.statistic = static_cast<metrics::Statistic>(named - names.begin());
  return options;
}

/// Blocks for tokens of all instances.
core::Blocks kv_blocks_of(const scenario::Resolved& resolved) {
  constexpr core::Blocks kNull(1);  // Holds no tokens.
  const auto of = [&](const scenario::Deployment& deployment, std::int64_t instances) {
    return (deployment.engine.num_gpu_blocks - kNull) * instances;
  };
  core::Blocks all;
  for (const scenario::ResolvedPool& pool : resolved.pools) {
    all += of(*pool.deployment, places_of_pool(resolved, pool.section));
  }
  return resolved.pools.empty()
             ? of(*resolved.deployment, std::max<std::int64_t>(num_places(resolved), 1))
             : all;
}

/// Counts of `instances` instances together. Used blocks count by time, and time by instance: the
/// mean is that of one instance.
metrics::EngineCounts counts_of(const engine::EngineTotals& totals,
                                core::Blocks kv_blocks,
                                std::int64_t instances) {
  return {.steps = totals.steps,
          .step_time = totals.step_time,
          .busy = totals.busy,
          .prefix_queries = totals.prefix_queries,
          .prefix_hits = totals.prefix_hits,
          .kv_blocks = kv_blocks,
          .peak_used_blocks = totals.peak_used_blocks,
          .used_block_seconds = totals.used_block_seconds * static_cast<double>(instances)};
}

/// The totals that are part of the digest: all that do not depend on how steps were advanced.
std::vector<std::int64_t> digest_totals(const engine::EngineTotals& totals) {
  std::vector<std::int64_t> numbers = {totals.steps,
                                       totals.preemptions,
                                       static_cast<std::int64_t>(totals.step_time.cpu.count()),
                                       static_cast<std::int64_t>(totals.busy.count()),
                                       totals.prefix_queries.value(),
                                       totals.prefix_hits.value(),
                                       totals.peak_used_blocks.value()};
  for (const auto part : totals.step_time.by_bottleneck) {
    numbers.push_back(static_cast<std::int64_t>(part.count()));
  }
  return numbers;
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

/// What serves: a cluster where the scenario has one, else one instance.
class Servers {
 public:
  /// `tenants` outlive it.
  Servers(const scenario::Resolved& resolved,
          const engine::InstanceInputs& inputs,
          domain::Tenants& tenants,
          const FleetControls& controls,
          const PoolEngines& pools,
          const workload::Source& source,
          const std::vector<std::vector<domain::Request>>& warm) {
    if (resolved.run.cluster.instances) {
      std::vector<cluster::PartMaker> makers;
      if (auto admission = admission_maker(resolved, tenants, parts_.admission)) {
        makers.push_back(std::move(*admission));
      }
      if (auto apart = disaggregation_maker(resolved, parts_.disaggregation)) {
        makers.push_back(std::move(*apart));
      }
      if (auto tiers = offload_maker(resolved, inputs.engine.model, parts_.offload)) {
        makers.push_back(std::move(*tiers));
      }
      cluster_ = make_cluster(
          resolved,
          inputs,
          controls,
          std::move(makers),
          {.pools = pools.pools(), .groups = pool_groups(resolved, source), .warm_from = warm},
          tenants);
    } else {
      engine::InstanceInputs own = inputs;
      if (!warm.empty()) {
        own.warm_from = warm.front();
      }
      instance_ = std::make_unique<engine::Instance>(own);
    }
  }
  [[nodiscard]] engine::Server& front() const {
    return cluster_ ? static_cast<engine::Server&>(*cluster_) : *instance_;
  }
  [[nodiscard]] const cluster::Cluster* cluster() const { return cluster_.get(); }
  [[nodiscard]] const FleetParts& parts() const { return parts_; }

 private:
  FleetParts parts_;
  std::unique_ptr<engine::Instance> instance_;
  std::unique_ptr<cluster::Cluster> cluster_;
};

RunOutcome outcome_of(const scenario::Resolved& resolved,
                      const Servers& servers,
                      metrics::Recorder& recorder,
                      workload::Source& source) {
  const scenario::Deployment& deployment = *resolved.deployment;
  RunOutcome outcome;
  outcome.totals = servers.front().totals();
  outcome.of_other_ranks = source.of_other_ranks();
  outcome.summary = recorder.summarise(counts_of(
      outcome.totals, kv_blocks_of(resolved), std::max<std::int64_t>(num_places(resolved), 1)));
  if (servers.cluster() != nullptr) {
    fill_fleet(resolved,
               *servers.cluster(),
               servers.parts(),
               outcome.summary.duration_s.value_or(0.0) + recorder.work().warmup_s,
               outcome.summary);
  }
  outcome.summary.kv_cache.block_size = deployment.engine.block_size.value();
  outcome.summary.power = power_of(resolved, outcome.summary, recorder.work());
  name_groups(source.labels(), outcome.summary);
  outcome.digest = recorder.digest(digest_totals(outcome.totals));
  outcome.warnings = recorder.warnings();
  add_run_warnings(resolved, outcome.summary, source, outcome.warnings);
  if (auto bound = front_end_warning(resolved, outcome.summary, recorder.work())) {
    outcome.warnings.push_back(std::move(*bound));
  }
  return outcome;
}

}  // namespace

/// Everything of a run, in the order in which the one needs the other.
struct WiredRun::Parts {
  const scenario::Resolved& resolved;
  workload::Source& source;
  domain::Tenants tenants;
  std::optional<metrics::Timeline> timeline;
  std::vector<std::vector<domain::Request>> warm;
  LoggedModel logged;
  std::optional<metrics::Recorder> recorder;
  std::optional<StepWatch> watch;
  engine::EngineOptions options;
  std::optional<PoolEngines> pools;
  std::optional<Driver> driver;
  std::optional<Servers> servers;
  const latency::StepTimeModel* hosts;  ///< A step-time model of the host; null: the scenario's.
};

WiredRun::WiredRun(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
WiredRun::WiredRun(WiredRun&&) noexcept = default;
WiredRun::~WiredRun() = default;

core::Result<WiredRun> WiredRun::make(const scenario::Resolved& resolved,
                                      workload::Source& source,
                                      const RunControls& controls) {
  if (resolved.pools.size() > 1 && controls.steps != nullptr) {
    return core::fail(core::Error{.field = "cluster.pools",
                                  .message = "steps of several pools are not taken apart",
                                  .hint = "one pool"});
  }
  if (!resolved.pools.empty() && controls.host_parts.step_time_model != nullptr) {
    return core::fail(core::Error{.field = "cluster.pools",
                                  .message = "one step-time model of the host cannot stand for the "
                                             "instances of pools",
                                  .hint = "without pools"});
  }
  domain::Tenants tenants = tenants_of(resolved, source);
  if (auto errors = tenant_errors(resolved, source, tenants); !errors.empty()) {
    return core::fail(std::move(errors));
  }
  auto warm = warm_requests(resolved);
  if (!warm) {
    return core::fail(warm.error());
  }
  const scenario::Deployment& deployment = *resolved.deployment;
  std::unique_ptr<Parts> parts(new Parts{.resolved = resolved,
                                         .source = source,
                                         .tenants = std::move(tenants),
                                         .timeline = {},
                                         .warm = std::move(*warm),
                                         .logged = LoggedModel(*deployment.latency),
                                         .recorder = {},
                                         .watch = {},
                                         .options = {},
                                         .pools = {},
                                         .driver = {},
                                         .servers = {},
                                         .hosts = nullptr});
  Parts& run = *parts;
  metrics::RecorderOptions recorder_inputs = recorder_options(resolved, source, controls);
  if (controls.series_windows) {
    run.timeline.emplace(timeline_options(resolved, recorder_inputs.slo, *controls.series_windows));
    recorder_inputs.timeline = &*run.timeline;
    recorder_inputs.curves = true;
  }
  recorder_inputs.tenants = resolved.run.cluster.tenants ? &run.tenants : nullptr;
  run.recorder.emplace(recorder_inputs);
  run.hosts = controls.host_parts.step_time_model;
  const latency::StepTimeModel& model = run.hosts != nullptr ? *run.hosts
                                        : deployment.latency->logs()
                                            ? static_cast<const latency::StepTimeModel&>(run.logged)
                                            : *deployment.latency;
  run.watch.emplace(model);
  const auto options_of = [&](const scenario::Deployment& one) {
    engine::EngineOptions options = one.engine;
    options.kv_connector = has_kv_tiers(resolved);
    options.kv_transfer = is_disaggregated(resolved) || options.kv_connector;
    options.kv_consumer = options.kv_transfer;  // Servers are started in both roles (kv_both).
    options.acceptance_seed = static_cast<std::uint64_t>(resolved.run.seed);
    const bool wanted = controls.listener != nullptr && controls.listener->needs_steps();
    options.log_steps = options.log_steps || wanted || run.timeline.has_value() ||
                        controls.steps != nullptr || controls.records != nullptr;
    return options;
  };
  run.options = options_of(deployment);
  run.pools.emplace(resolved, options_of);
  run.driver.emplace(DriverInputs{.source = source,
                                  .path = deployment.path,
                                  .recorder = *run.recorder,
                                  .instances = std::max<std::int64_t>(num_places(resolved), 1),
                                  .interrupt = controls.interrupt,
                                  .progress = controls.progress,
                                  .listener = controls.listener,
                                  .steps = controls.steps,
                                  .watch = &*run.watch,
                                  .records = controls.records});
  const engine::InstanceInputs inputs = {
      .engine = {.options = run.options,
                 .model = controls.steps == nullptr
                              ? model
                              : static_cast<const latency::StepTimeModel&>(*run.watch),
                 .host = deployment.host,
                 .sink = *run.driver,
                 .horizon = last_step_end(deployment.path),
                 .tokens = controls.tokens},
      .path = deployment.path,
      .id = core::InstanceId(0),
      .core = controls.core,
      .jump = controls.jump,
      .kv_events = controls.kv_events};
  // A log of look-ups and a sink of tokens are for one thread.
  const bool alone = deployment.latency->logs() || run.pools->any_logs() ||
                     controls.tokens != nullptr || run.hosts != nullptr;
  run.servers.emplace(
      resolved,
      inputs,
      run.tenants,
      FleetControls{.eager = controls.core == engine::EngineCore::kReference,
                    .arrivals_are_known =
                        !source.is_closed_loop() && !source.may_give_up() && !controls.is_pushed,
                    .threads = alone ? 1 : controls.threads,
                    .audit = controls.routing_audit,
                    .decisions = controls.decisions,
                    .stories = controls.stories,
                    .make_router = controls.host_parts.make_router,
                    .make_scaler = controls.host_parts.make_scaler},
      *run.pools,
      source,
      run.warm);
  return WiredRun(std::move(parts));
}

engine::Server& WiredRun::server() {
  return parts_->servers->front();
}

const cluster::Cluster* WiredRun::cluster() const {
  return parts_->servers->cluster();
}

Driver& WiredRun::driver() {
  return *parts_->driver;
}

core::Result<RunOutcome> WiredRun::finish(Driver::End end) {
  Parts& run = *parts_;
  if (end == Driver::End::kPastHorizon) {
    return core::fail(past_horizon(run.resolved, run.recorder->num_completed(), run.source.size()));
  }
  if (!run.source.errors().empty()) {
    return core::fail(run.source.errors());
  }
  if (auto errors = tenant_errors(run.resolved, run.source, run.tenants); !errors.empty()) {
    return core::fail(std::move(errors));
  }
  RunOutcome outcome = outcome_of(run.resolved, *run.servers, *run.recorder, run.source);
  if (run.timeline) {
    outcome.series = series_of(run.resolved, *run.timeline, run.recorder->curves());
    run.timeline.reset();  // A second copy of it is a MiB.
  }
  outcome.partial = end == Driver::End::kInterrupted;
  const auto findings = run.hosts != nullptr ? core::Warnings()
                        : run.resolved.pools.empty()
                            ? run.resolved.deployment->latency->findings(run.logged.lookups())
                            : run.pools->findings();
  outcome.warnings.insert(outcome.warnings.end(), findings.begin(), findings.end());
  return outcome;
}

}  // namespace ridgeline::sim
