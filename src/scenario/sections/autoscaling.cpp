#include "scenario/sections/autoscaling.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster/scaling/metric.hpp"
#include "cluster/scaling/registry.hpp"
#include "cluster/scaling/victim.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "scenario/findings.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/cluster.hpp"
#include "scenario/sections/cold_start.hpp"
#include "scenario/sections/faults.hpp"
#include "scenario/sections/pools.hpp"
#include "scenario/sections/replicas_at.hpp"
#include "scenario/sections/sections.hpp"

namespace ridgeline::scenario {
namespace {

constexpr std::string_view kName = "cluster.autoscaling.name";
constexpr std::string_view kMin = "cluster.autoscaling.min_replicas";
constexpr std::string_view kMax = "cluster.autoscaling.max_replicas";
constexpr std::string_view kTarget = "cluster.autoscaling.target";
constexpr std::string_view kPrefillMin = "cluster.autoscaling.prefill_min_replicas";
constexpr std::string_view kPrefillMax = "cluster.autoscaling.prefill_max_replicas";
constexpr std::string_view kPrefillMetric = "cluster.autoscaling.prefill_metric";
constexpr std::string_view kPrefillTarget = "cluster.autoscaling.prefill_target";
constexpr std::string_view kPrefillReplicasAt = "cluster.autoscaling.prefill_replicas_at";
constexpr std::string_view kPrefillCron = "cluster.autoscaling.prefill_cron";
constexpr std::string_view kReplicasAt = "cluster.autoscaling.replicas_at";
constexpr std::string_view kCron = "cluster.autoscaling.cron";
constexpr std::string_view kScaleDown = "cluster.autoscaling.scale_down";
constexpr std::string_view kDrain = "cluster.autoscaling.drain_timeout";
constexpr double kMostReplicas = 4096;

// clang-format off
constexpr auto kAutoscalingOptions = std::to_array<Option>({
    {.path = kName, .flag = "autoscaling", .unset = "off: a fixed number of instances",
     .help = "The policy that decides how many instances there are (see `ridgeline list autoscalers`)", .example = "hpa",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.name; }},
    {.path = kMin, .flag = "min-replicas", .lowest = 0, .highest = kMostReplicas, .unset = "1",
     .help = "Fewest instances; 0 for keda and wva, which then wake at a request", .example = "2",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.min_replicas; }},
    {.path = kMax, .flag = "max-replicas", .lowest = 1, .highest = kMostReplicas, .unset = "required with an autoscaler",
     .help = "Most instances, those that drain among them: as many as there are GPUs for", .example = "16",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.max_replicas; }},
    {.path = kPrefillMin, .flag = "prefill-min-replicas", .lowest = 1, .highest = kMostReplicas, .unset = "1",
     .help = "Fewest prefill instances; the other bounds are then of decode instances", .example = "2",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.prefill_min_replicas; }},
    {.path = kPrefillMax, .flag = "prefill-max-replicas", .lowest = 1, .highest = kMostReplicas, .unset = "as many prefill instances as from the start",
     .help = "Most prefill instances", .example = "8",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.prefill_max_replicas; }},
    {.path = kPrefillMetric, .flag = "prefill-metric", .choices = scaling::kMetricNames, .unset = "as the metric",
     .help = "What hpa and keda hold on target, of each prefill instance", .example = "queued-tokens",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.prefill_metric; }},
    {.path = kPrefillTarget, .flag = "prefill-target", .lowest = 1e-6, .highest = 1e9, .unset = "as the target",
     .help = "The metric's target per prefill instance", .example = "4000",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.prefill_target; }},
    {.path = kPrefillReplicasAt, .flag = "prefill-replicas-at", .unset = "required with schedule and prefill_max_replicas",
     .help = "How many prefill instances schedule wants from which time on, as replicas_at",
     .example = "[[0s, 2], [600s, 4]]", .shape = Option::Shape::kItems,
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.prefill_replicas_at; }},
    {.path = kPrefillCron, .flag = "prefill-cron", .unset = "none",
     .help = "As prefill_replicas_at, by crontab", .example = "['0 8 * * 1-5=4']", .shape = Option::Shape::kItems,
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.prefill_cron; }},
    {.path = "cluster.autoscaling.scaling_interval", .flag = "scaling-interval", .unit = "s",
     .lowest = kMinIntervalSeconds, .highest = kMaxSeconds, .unset = "the policy's: hpa and keda 15s, wva 30s, dynamo-planner 5s",
     .help = "From one decision to the next", .example = "30s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.scaling_interval; }},
    {.path = "cluster.autoscaling.metrics_interval", .flag = "metrics-interval", .unit = "s",
     .lowest = kMinIntervalSeconds, .highest = kMaxSeconds, .unset = "15s",
     .help = "From one reading of the metrics that the autoscaler sees to the next", .example = "30s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.metrics_interval; }},
    {.path = "cluster.autoscaling.metric", .flag = "metric", .choices = scaling::kMetricNames, .unset = "requests",
     .help = "What hpa and keda hold on target, of each instance", .example = "running",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.metric; }},
    {.path = "cluster.autoscaling.metric_quantile", .flag = "metric-quantile", .lowest = 0.01, .highest = 1, .unset = "0.9",
     .help = "Which quantile of ttft or tpot hpa and keda hold on target", .example = "0.99",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.metric_quantile; }},
    {.path = "cluster.autoscaling.metric_window", .flag = "metric-window", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "60s",
     .help = "Of requests that ended in this time before the reading", .example = "120s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.metric_window; }},
    {.path = kTarget, .flag = "target", .lowest = 1e-6, .highest = 1e9, .unset = "required with hpa and keda",
     .help = "The metric's target per instance; of busy and kv-usage a share, of ttft and tpot seconds, of all instances", .example = "40",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.target; }},
    {.path = "cluster.autoscaling.tolerance", .flag = "tolerance", .lowest = 0, .highest = 1, .unset = "0.1",
     .help = "hpa and keda change nothing so near the target", .example = "0.05",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.tolerance; }},
    {.path = "cluster.autoscaling.stabilization_window", .flag = "stabilization-window", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "300s",
     .help = "hpa and keda go down no further than the most that they wanted in this time", .example = "60s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.stabilization_window; }},
    {.path = "cluster.autoscaling.cooldown", .flag = "cooldown", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "300s",
     .help = "keda takes the last instance after so long without a request", .example = "600s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.cooldown; }},
    {.path = "cluster.autoscaling.analyzer", .flag = "analyzer", .choices = scaling::kAnalyzerNames, .unset = "v1",
     .help = "wva judges spare KV blocks and queues (v1), or tokens (v2)", .example = "v2",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.analyzer; }},
    {.path = "cluster.autoscaling.optimization_target", .flag = "optimization-target",
     .choices = scaling::kOptimizationTargetNames, .unset = "throughput",
     .help = "Which thresholds dynamo-planner compares with", .example = "latency",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.optimization_target; }},
    {.path = kReplicasAt, .flag = "replicas-at", .unset = "required with schedule",
     .help = "How many instances schedule wants from which time on, as [time, number] or time=number",
     .example = "[[0s, 4], [600s, 8]]", .shape = Option::Shape::kItems,
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.replicas_at; }},
    {.path = kCron, .flag = "cron", .unset = "none",
     .help = "As replicas_at, by crontab: minute hour day month weekday=number", .example = "['0 8 * * 1-5=8', '0 20 * * *=2']",
     .shape = Option::Shape::kItems,
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.cron; }},
    {.path = kCronStartPath, .flag = "cron-start", .unset = "2026-01-05T00:00, a Monday",
     .help = "The day and time of the calendar at which the run begins", .example = "2026-01-05T07:30",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.cron_start; }},
    {.path = kScaleDown, .flag = "scale-down", .choices = scaling::kVictimPolicyNames,
     .unset = "newest",
     .help = "Which instance goes first; those that still start go before all", .example = "least-loaded",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.scale_down; }},
    {.path = kDrain, .flag = "drain-timeout", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "none: it finishes what it has",
     .help = "An instance that is to go loses the requests that it has after this time", .example = "60s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.drain_timeout; }},
    {.path = kColdStartPath, .flag = "cold-start", .unset = "weights at 2GB/s, compile 40s, capture 20s",
     .help = "How an instance starts: auto, or load_bandwidth, and times or {mean, sd} of schedule, pull, load, compile, capture, warm_up (phases: auto computes the others)",
     .example = "{load_bandwidth: 1GB/s, compile: {mean: 40s, sd: 5s}}", .shape = Option::Shape::kPairs,
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.autoscaling.cold_start; }},
});
// clang-format on

template <class Names>
std::size_t place_of(const Names& names, const std::optional<std::string>& name) {
  return name ? static_cast<std::size_t>(std::ranges::find(names, *name) - names.begin()) : 0;
}

scaling::Metric metric_of(const std::optional<std::string>& name) {
  return static_cast<scaling::Metric>(place_of(scaling::kMetricNames, name));
}

/// Instances that are scaled together: all, those that decode, or those of a pool.
struct Scaled {
  AutoscalingSection section;
  std::int64_t instances = 0;  ///< From the start.
  std::string_view kind = {};  ///< Which they are.
  /// Reports a problem of a key of the section, or of "instances".
  std::function<void(std::string_view key, std::string message, std::string hint)> problem;
};

void check_policy(const scaling::ScalerEntry& policy, Findings& findings) {
  for (const std::string_view setting : {"metric",
                                         "metric_quantile",
                                         "metric_window",
                                         "target",
                                         "tolerance",
                                         "stabilization_window",
                                         "cooldown",
                                         "analyzer",
                                         "optimization_target",
                                         "replicas_at",
                                         "cron",
                                         "cron_start"}) {
    const std::string path = fmt::format("cluster.autoscaling.{}", setting);
    if (findings.given(path) && !policy.reads_setting(setting)) {
      findings.ignored(path, fmt::format("the policy {} does not read it", policy.name));
    }
  }
}

/// What the keys of prefill instances say.
void check_prefill(const scaling::ScalerEntry& policy, bool has_pools, Findings& findings) {
  const ClusterSection& cluster = findings.scenario().run.cluster;
  const AutoscalingSection& section = cluster.autoscaling;
  const auto ignore = [&](std::string_view path, std::string_view why) {
    if (findings.given(path)) {
      findings.ignored(std::string(path), std::string(why));
    }
  };
  const auto& prefill = cluster.disaggregation.prefill_instances;
  if (!prefill || (!has_pools && !section.prefill_max_replicas)) {
    const std::string why = !prefill
                                ? "no instance computes prompts alone"
                                : "prefill instances are not scaled without prefill_max_replicas";
    for (const std::string_view path :
         {kPrefillMin, kPrefillMetric, kPrefillTarget, kPrefillReplicasAt, kPrefillCron}) {
      ignore(path, why);
    }
    if (!prefill) {
      ignore(kPrefillMax, why);
    }
    return;
  }
  if (!policy.reads_setting("replicas_at")) {
    for (const std::string_view path : {kPrefillReplicasAt, kPrefillCron}) {
      ignore(path, fmt::format("the policy {} does not read it", policy.name));
    }
  } else if (!has_pools && !section.prefill_replicas_at && !section.prefill_cron) {
    findings.problem(kPrefillReplicasAt,
                     "missing: schedule needs times and numbers of prefill instances too",
                     "[[600s, 8]], prefill_cron: ['0 8 * * 1-5=8'], or no prefill_max_replicas");
  }
  if (!policy.reads_setting("target")) {
    for (const std::string_view path : {kPrefillMetric, kPrefillTarget}) {
      ignore(path, fmt::format("the policy {} does not read it", policy.name));
    }
  }
  if (has_pools) {
    return;  // Each is checked as what it is.
  }
  const std::int64_t fewest = section.prefill_min_replicas.value_or(1);
  if (fewest > *section.prefill_max_replicas) {
    findings.problem(
        kPrefillMin,
        fmt::format("{} is above prefill_max_replicas, {}", fewest, *section.prefill_max_replicas));
  } else if (*prefill < fewest || *prefill > *section.prefill_max_replicas) {
    findings.problem("cluster.disaggregation.prefill_instances",
                     fmt::format("{} is outside {} to {}, the bounds of the autoscaler",
                                 *prefill,
                                 fewest,
                                 *section.prefill_max_replicas));
  }
}

/// The target is in the unit of the metric.
void check_target(std::string_view key,
                  scaling::Metric metric,
                  const std::optional<double>& target,
                  const Scaled& scaled) {
  if (target && scaling::is_share(metric) && *target > 1.0) {
    scaled.problem(key,
                   fmt::format("found {:g}, expected a share of 1 at most: {} is not in percent",
                               *target,
                               scaling::kMetricNames[static_cast<std::size_t>(metric)]),
                   *target <= 100.0 ? fmt::format("{:g}", *target / 100.0) : "0.8");
  }
  constexpr double kMostSeconds = 60.0;  // Longer than a first token is aimed to take.
  if (target && scaling::is_latency(metric) && *target > kMostSeconds) {
    scaled.problem(
        key,
        fmt::format("found {:g}, expected seconds, 60 at most: it is not in milliseconds", *target),
        fmt::format("{:g}", *target / 1e3));
  }
}

void check_window(Findings& findings) {
  if (findings.scenario().run.cluster.autoscaling.metric_window == core::Duration()) {
    findings.problem("cluster.autoscaling.metric_window",
                     "0s is out of range, expected a time above zero",
                     "15s");
  }
}

/// Settings of latencies, and of calendars, are read with those alone.
void check_needed(const std::vector<Scaled>& all, bool prefill_is_latency, Findings& findings) {
  const bool any = prefill_is_latency || std::ranges::any_of(all, [](const Scaled& scaled) {
                     return scaling::is_latency(metric_of(scaled.section.metric));
                   });
  for (const std::string_view path :
       {"cluster.autoscaling.metric_quantile", "cluster.autoscaling.metric_window"}) {
    if (findings.given(path) && !any) {
      findings.problem(path,
                       "would be ignored: the metric is neither ttft nor tpot",
                       "--metric ttft, or remove it");
    }
  }
  const bool any_cron =
      findings.given(kPrefillCron) || std::ranges::any_of(all, [](const Scaled& scaled) {
        return scaled.section.cron.has_value();
      });
  if (findings.given(kCronStartPath) && !any_cron) {
    findings.problem(
        kCronStartPath, "would be ignored: there are no lines of cron", "--cron '0 8 * * 1-5=8'");
  }
}

void check_bounds(const scaling::ScalerEntry& policy, const Scaled& scaled) {
  const AutoscalingSection& section = scaled.section;
  if (policy.reads_setting("target") && !section.target) {
    scaled.problem("target", fmt::format("missing: {} needs a target", policy.name), "--target 40");
  }
  if (policy.reads_setting("replicas_at") && !section.replicas_at && !section.cron) {
    scaled.problem("replicas_at",
                   "missing: schedule needs times and numbers",
                   "[[600s, 8]], or cron: ['0 8 * * 1-5=8']");
  }
  check_target("target", metric_of(section.metric), section.target, scaled);
  const std::int64_t fewest = section.min_replicas.value_or(1);
  if (!section.max_replicas) {
    scaled.problem("max_replicas", "missing: an autoscaler needs a bound", "--max-replicas 16");
    return;
  }
  if (fewest > *section.max_replicas) {
    scaled.problem("min_replicas",
                   fmt::format("{} is above max_replicas, {}", fewest, *section.max_replicas),
                   "");
    return;
  }
  if (scaled.instances < fewest || scaled.instances > *section.max_replicas) {
    scaled.problem("instances",
                   fmt::format("{}{} is outside {} to {}, the bounds of the autoscaler",
                               scaled.instances,
                               scaled.kind,
                               fewest,
                               *section.max_replicas),
                   "");
  }
  if (fewest == 0 && policy.name != "keda" && policy.name != "wva") {
    scaled.problem("min_replicas",
                   fmt::format("{} never starts a first instance", policy.name),
                   "0 is for keda and wva");
  }
}

/// Keys by which a pool differs from cluster.autoscaling.
constexpr auto kPoolKeys = std::to_array<std::string_view>(
    {"min_replicas", "max_replicas", "metric", "target", "replicas_at", "cron"});

/// A problem of a pool's key, where it is stated or should be.
void pool_problem(Findings& findings,
                  const PoolSection& pool,
                  std::size_t place,
                  std::string_view key,
                  std::string message,
                  std::string hint) {
  const std::string shared = fmt::format("cluster.autoscaling.{}", key);
  if (key != "instances" && pool.node.find(key) == nullptr && findings.given(shared)) {
    findings.problem(shared, std::move(message), std::move(hint));
    return;
  }
  findings.errors().push_back({.field = pool_path(place, key),
                               .message = std::move(message),
                               .where = pool.node.where(),
                               .hint = std::move(hint)});
}

/// What pools say of their own scaling.
void check_pool_keys(const std::vector<PoolSection>& pools, Findings& findings) {
  const ClusterSection& cluster = findings.scenario().run.cluster;
  const auto& name = cluster.autoscaling.name;
  const auto policy = scaling::find_scaler(name.value_or("hpa"));
  for (std::size_t i = 0; i < pools.size(); ++i) {
    for (const std::string_view key : kPoolKeys) {
      if (pools[i].node.find(key) == nullptr) {
        continue;
      }
      const bool is_bound = key == "min_replicas" || key == "max_replicas";
      const std::string why =
          !name ? "there is no autoscaler without cluster.autoscaling.name"
          : cluster.disaggregation.prefill_instances && pools.size() == 1
              ? "with prefill and decode apart cluster.autoscaling says it for each kind"
          : policy && !is_bound && !(*policy)->reads_setting(key)
              ? fmt::format("the policy {} does not read it", *name)
              : "";
      if (!why.empty()) {
        pool_problem(findings,
                     pools[i],
                     i,
                     key,
                     fmt::format("would be ignored: {}", why),
                     name ? "remove it" : "--autoscaling hpa, or remove it");
      }
    }
  }
}

/// What is scaled together, but for prefill instances.
std::vector<Scaled> scaled_of(const std::vector<PoolSection>& pools, Findings& findings) {
  const ClusterSection& cluster = findings.scenario().run.cluster;
  const auto& prefill = cluster.disaggregation.prefill_instances;
  if (pools.empty() || (prefill && pools.size() == 1)) {
    return {{.section = cluster.autoscaling,
             .instances = *cluster.instances - prefill.value_or(0),
             .kind = prefill ? " that decode" : "",
             .problem = [&findings](std::string_view key, std::string message, std::string hint) {
               findings.problem(key == "instances" ? "cluster.instances"
                                                   : fmt::format("cluster.autoscaling.{}", key),
                                std::move(message),
                                std::move(hint));
             }}};
  }
  std::vector<Scaled> all;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    AutoscalingSection own = autoscaling_of(cluster.autoscaling, pools[i]);
    if (pools[i].role == scaling::Role::kPrefill && !own.max_replicas) {
      continue;  // Their number is fixed.
    }
    all.push_back({.section = std::move(own),
                   .instances = pools[i].instances,
                   .problem = [&findings, pool = pools[i], i](
                                  std::string_view key, std::string message, std::string hint) {
                     pool_problem(findings, pool, i, key, std::move(message), std::move(hint));
                   }});
  }
  return all;
}

/// Pools may share what is wrong: it is reported once.
void add_new(core::Errors errors, Findings& findings) {
  for (core::Error& error : errors) {
    const bool is_known = std::ranges::any_of(findings.errors(), [&](const core::Error& known) {
      return known.field == error.field && known.message == error.message;
    });
    if (!is_known) {
      findings.errors().push_back(std::move(error));
    }
  }
}

/// There are places for so many.
void check_places(const std::vector<Scaled>& all, Findings& findings) {
  std::int64_t places = 0;
  for (const Scaled& scaled : all) {
    places += scaled.section.max_replicas.value_or(0);
  }
  if (places > kMaxInstances) {
    findings.problem("cluster.pools",
                     fmt::format("{} instances at most in all are out of range, expected {} at "
                                 "most",
                                 places,
                                 kMaxInstances),
                     "a smaller max_replicas");
  }
}

/// Settings of an autoscaler that is not there; some are of crashes and updates too.
void check_without_policy(Findings& findings) {
  const ClusterSection& cluster = findings.scenario().run.cluster;
  if (cluster.autoscaling.name) {
    return;
  }
  for (const Option& option : kAutoscalingOptions) {
    const bool is_for_crashes = option.path == kColdStartPath && cluster.faults;
    const bool is_for_updates =
        cluster.rolling_update.update_at &&
        (option.path == kColdStartPath || option.path == kScaleDown || option.path == kDrain);
    if (findings.given(option.path) && !is_for_crashes && !is_for_updates) {
      findings.problem(option.path,
                       "would be ignored: there is no autoscaler without cluster.autoscaling.name",
                       "--autoscaling hpa, or remove this setting");
    }
  }
}

}  // namespace

AutoscalingSection autoscaling_of(const AutoscalingSection& section, const PoolSection& pool) {
  AutoscalingSection own = section;
  if (pool.role == scaling::Role::kPrefill) {
    own.min_replicas = section.prefill_min_replicas;
    own.max_replicas = section.prefill_max_replicas;
    own.replicas_at = section.prefill_replicas_at;
    own.cron = section.prefill_cron;
    own.metric = section.prefill_metric ? section.prefill_metric : section.metric;
    own.target = section.prefill_target ? section.prefill_target : section.target;
  }
  const auto take = [](auto& slot, const auto& stated) {
    if (stated) {
      slot = stated;
    }
  };
  take(own.min_replicas, pool.min_replicas);
  take(own.max_replicas, pool.max_replicas);
  take(own.metric, pool.metric);
  take(own.target, pool.target);
  take(own.replicas_at, pool.replicas_at);
  take(own.cron, pool.cron);
  if (pool.role == scaling::Role::kPrefill) {  // In either place it is the pool's.
    own.prefill_metric = own.metric;
    own.prefill_target = own.target;
    own.prefill_replicas_at = own.replicas_at;
    own.prefill_cron = own.cron;
  }
  return own;
}

core::Result<scaling::ScalerSettings> scaler_settings(const AutoscalingSection& section,
                                                      scaling::Role role) {
  core::Errors errors;
  const bool is_prefill = role == scaling::Role::kPrefill;
  scaling::ScalerSettings settings{.role = role};
  const auto policy = scaling::find_scaler(section.name.value_or("hpa"));
  if (!policy) {
    return core::fail(policy.error());
  }
  settings.scaling_interval = section.scaling_interval.value_or((*policy)->interval);
  const auto& metric =
      is_prefill && section.prefill_metric ? section.prefill_metric : section.metric;
  settings.metric = metric_of(metric);
  settings.target = section.target.value_or(settings.target);
  if (is_prefill) {
    settings.target = section.prefill_target.value_or(settings.target);
  }
  settings.metric_quantile = section.metric_quantile.value_or(settings.metric_quantile);
  settings.metric_window = section.metric_window.value_or(settings.metric_window);
  settings.tolerance = section.tolerance.value_or(settings.tolerance);
  settings.stabilization_window =
      section.stabilization_window.value_or(settings.stabilization_window);
  settings.cooldown = section.cooldown.value_or(settings.cooldown);
  settings.analyzer =
      static_cast<scaling::Analyzer>(place_of(scaling::kAnalyzerNames, section.analyzer));
  settings.optimization_target = static_cast<scaling::OptimizationTarget>(
      place_of(scaling::kOptimizationTargetNames, section.optimization_target));
  if (const auto& listed = is_prefill ? section.prefill_replicas_at : section.replicas_at) {
    settings.replicas_at =
        read_replicas_at(is_prefill ? kPrefillReplicasAt : kReplicasAt, *listed, errors);
  }
  if (const auto& cron = is_prefill ? section.prefill_cron : section.cron) {
    const std::vector<ReplicasAt> times =
        read_cron(is_prefill ? kPrefillCron : kCron, *cron, section.cron_start, errors);
    settings.replicas_at.insert(settings.replicas_at.end(), times.begin(), times.end());
    std::ranges::stable_sort(settings.replicas_at, {}, &ReplicasAt::first);
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return settings;
}

scaling::VictimPolicy victim_policy(const AutoscalingSection& section) {
  return static_cast<scaling::VictimPolicy>(
      place_of(scaling::kVictimPolicyNames, section.scale_down));
}

std::int64_t most_instances(const AutoscalingSection& section, std::int64_t instances) {
  return section.name ? section.max_replicas.value_or(instances) : instances;
}

std::span<const Option> autoscaling_options() {
  return kAutoscalingOptions;
}

void check_autoscaling(Findings& findings) {
  const ClusterSection& cluster = findings.scenario().run.cluster;
  const AutoscalingSection& section = cluster.autoscaling;
  if (!cluster.instances) {
    return;  // check_cluster() says so.
  }
  check_without_policy(findings);
  if (auto start = read_cold_start(section.cold_start, {}); !start) {
    add_new(start.error(), findings);
  }
  const auto listed = read_pools(cluster, findings.scenario().deployment);
  if (!listed) {
    return;  // check_pools() says so.
  }
  check_pool_keys(*listed, findings);
  if (!section.name) {
    return;
  }
  const auto policy = scaling::find_scaler(*section.name);
  if (!policy) {
    findings.problem(kName, policy.error().front().message, policy.error().front().hint);
    return;
  }
  const std::vector<Scaled> all = scaled_of(*listed, findings);
  for (const Scaled& scaled : all) {
    if (auto settings = scaler_settings(scaled.section); !settings) {
      add_new(settings.error(), findings);
    }
  }
  if (auto settings = scaler_settings(section, scaling::Role::kPrefill); !settings) {
    add_new(settings.error(), findings);
  }
  check_window(findings);
  check_policy(**policy, findings);
  const bool has_pools = listed->size() > 1;
  check_prefill(**policy, has_pools, findings);
  for (const Scaled& scaled : all) {
    check_bounds(**policy, scaled);
  }
  const auto& prefill = section.prefill_metric ? section.prefill_metric : section.metric;
  if (section.prefill_max_replicas && !has_pools) {
    check_target(section.prefill_target ? "prefill_target" : "target",
                 metric_of(prefill),
                 section.prefill_target ? section.prefill_target : section.target,
                 all.front());
  }
  check_needed(all,
               section.prefill_max_replicas.has_value() && scaling::is_latency(metric_of(prefill)),
               findings);
  check_places(all, findings);
}

}  // namespace ridgeline::scenario
