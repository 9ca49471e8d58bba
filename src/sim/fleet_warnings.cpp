#include "sim/fleet_warnings.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "metrics/operations_summary.hpp"
#include "metrics/summary.hpp"
#include "routing/characters.hpp"
#include "routing/parameters.hpp"
#include "routing/registry.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "scenario/sections/cluster.hpp"
#include "scenario/sections/disaggregation.hpp"
#include "scenario/sections/gateway.hpp"
#include "scenario/sections/router.hpp"

namespace ridgeline::sim {
namespace {

constexpr std::string_view kMemory = "lruCapacityPerServer";
constexpr std::string_view kBlock = "blockSizeTokens";

bool has(const routing::RouterEntry& router, std::string_view parameter) {
  const auto table = router.table();
  return std::ranges::find(table, parameter, &routing::Parameter::name) != table.end();
}

/// Tokens of KV that the smallest instance holds.
std::int64_t fewest_held_tokens(const scenario::Resolved& resolved) {
  constexpr core::Blocks kNullBlock(1);  // Holds no tokens.
  const auto held = [&](const scenario::Deployment& deployment) {
    return (deployment.engine.block_size * (deployment.engine.num_gpu_blocks - kNullBlock).value())
        .value();
  };
  std::int64_t fewest = held(*resolved.deployment);
  for (const scenario::ResolvedPool& pool : resolved.pools) {
    fewest = std::min(fewest, held(*pool.deployment));
  }
  return fewest;
}

/// Whether one instance could hold all prompts and answers of the run: then none is evicted.
bool all_fit(const metrics::Summary& summary, std::int64_t held) {
  const std::int64_t rounding = summary.completed * summary.kv_cache.block_size;
  return !summary.warmup_requests && summary.completed == summary.requests() &&
         summary.total_input_tokens + summary.total_output_tokens + rounding <= held;
}

/// Prefill instances that do all the prompts or none of them, where the decider leaves it open.
void warn_of_idle_choice(const scenario::Resolved& resolved,
                         const metrics::Summary& summary,
                         core::Warnings& warnings) {
  if (!summary.fleet || !summary.fleet->transfers || summary.fleet->decisions == 0) {
    return;
  }
  const std::string decider = resolved.run.cluster.disaggregation.decider.value_or(std::string());
  const std::int64_t apart = summary.fleet->transfers->requests;
  if (apart == 0) {
    warnings.push_back({.code = "W-none-apart",
                        .message = "no prompt was computed apart: the prefill instances were idle",
                        .hint = "--non-cached-tokens, or --decider always"});
  } else if (apart == summary.completed && decider != "always") {
    warnings.push_back({.code = "W-all-apart",
                        .message = "every prompt was computed apart, and the decider changed none",
                        .hint = "--non-cached-tokens, or --decider always"});
  }
}

/// Whether a fault took that instance out of service: it strikes only what is ready.
bool was_struck(const metrics::OperationsSummary& operations, std::size_t instance) {
  return std::ranges::any_of(operations.faults, [&](const metrics::FaultSummary& fault) {
    return fault.instance == static_cast<std::int64_t>(instance) &&
           fault.lasted_in(fault.at_s, fault.at_s);
  });
}

/// Instances that an autoscaler added and that served nothing.
void warn_of_late_scaling(const scenario::Resolved& resolved,
                          const metrics::Summary& summary,
                          core::Warnings& warnings) {
  const auto& scaler = resolved.run.cluster.autoscaling.name;
  if (!scaler || !summary.fleet || !summary.fleet->operations) {
    return;
  }
  const metrics::OperationsSummary& operations = *summary.fleet->operations;
  std::int64_t unready = 0;
  for (std::size_t i = 0; i < summary.fleet->instances.size(); ++i) {
    const metrics::InstanceSummary& one = summary.fleet->instances[i];
    unready += one.ready_s == 0.0 && !one.of_update && !was_struck(operations, i) ? 1 : 0;
  }
  if (unready == 0) {
    return;
  }
  std::string faults;
  if (operations.scaling) {
    for (const metrics::ScaleEventSummary& event : operations.scaling->events) {
      if (event.to > event.from) {  // The last of these added them.
        faults = operations.faults_in(event.at_s, event.at_s);
      }
    }
  }
  warnings.push_back(
      {.code = "W-late-scaling",
       .message = fmt::format("{} {} that {} added{} {} never ready in this run",
                              unready,
                              core::plural("instance", unready),
                              *scaler,
                              faults.empty() ? "" : fmt::format(" under faults ({})", faults),
                              unready == 1 ? "was" : "were"),
       .hint = "more requests, or --cold-start for shorter starts"});
}

}  // namespace

void add_fleet_warnings(const scenario::Resolved& resolved,
                        const metrics::Summary& summary,
                        core::Warnings& warnings) {
  const scenario::ClusterSection& cluster = resolved.run.cluster;
  const auto found = routing::find_router(scenario::router_name(cluster.router));
  const auto setup = scenario::router_setup(cluster.router);
  if (!cluster.instances || !found || !setup) {
    return;
  }
  const routing::RouterEntry& router = **found;
  warn_of_idle_choice(resolved, summary, warnings);
  if (*cluster.instances == 1 && !setup->scorers.empty()) {
    warnings.push_back({.code = "W-one-instance",
                        .message = "weights of scorers cannot matter: there is one instance",
                        .hint = "--instances 2"});
  }
  const bool has_faults = summary.fleet && summary.fleet->operations;
  if (const std::int64_t late = has_faults ? summary.fleet->operations->late_faults : 0; late > 0) {
    warnings.push_back(
        {.code = "W-late-fault",
         .message = fmt::format(
             "{} {} never struck: the run ended before", late, core::plural("fault", late)),
         .hint = "an earlier time, or more requests"});
  }
  if (has_faults && summary.fleet->operations->late_updates > 0) {
    warnings.push_back({.code = "W-late-update",
                        .message = "the rolling update never began: the run ended before",
                        .hint = "an earlier time, or more requests"});
  }
  warn_of_late_scaling(resolved, summary, warnings);
  if (const std::int64_t refused = summary.count(domain::Outcome::kNoSuchModel); refused > 0) {
    warnings.push_back(
        {.code = "W-no-such-model",
         .message =
             fmt::format("{} for a model or an adapter that no pool serves",
                         refused == 1 ? "1 request asks" : fmt::format("{} requests ask", refused)),
         .hint = "models: [NAME] in a pool that is to serve it"});
  }
  const core::Duration interval =
      cluster.gateway.refresh_metrics_interval.value_or(core::Duration());
  if (interval.to_seconds() > summary.duration_s.value_or(interval.to_seconds())) {
    warnings.push_back(
        {.code = "W-refresh-interval",
         .message = fmt::format("gauges were read every {} s, and the run took {:.3g} s",
                                interval.to_seconds(),
                                *summary.duration_s),
         .hint = "--refresh-metrics-interval 50ms"});
  }
  const auto caches = [](const scenario::ResolvedPool& pool) {
    return pool.deployment->engine.enable_prefix_caching;
  };
  const bool any_caches = resolved.pools.empty() ? resolved.deployment->engine.enable_prefix_caching
                                                 : std::ranges::any_of(resolved.pools, caches);
  if (has(router, kMemory) && !any_caches) {
    warnings.push_back({.code = "W-no-prefix-caching",
                        .message = fmt::format("the policy {} sends prompts where it remembers "
                                               "them, and prefix caching is off: no instance has "
                                               "them",
                                               router.name),
                        .hint = "--enable-prefix-caching, or --router least-request"});
  } else if (has(router, kMemory)) {
    const std::int64_t remembered =
        setup->integer(router.table(), kMemory) * setup->integer(router.table(), kBlock);
    const std::int64_t held = fewest_held_tokens(resolved);
    if (remembered > held && !all_fit(summary, held)) {
      warnings.push_back({.code = "W-router-memory",
                          .message = fmt::format(
                              "the router remembers {} tokens of prompts per instance, whose KV "
                              "cache holds {}: it may send prompts where they are gone",
                              remembered,
                              held),
                          .hint = fmt::format("--lru-capacity-per-server {}, or --router "
                                              "llm-d-precise",
                                              held / setup->integer(router.table(), kBlock))});
    }
  }
  const std::string_view per_token = routing::chars_per_token_parameter().name;
  if (has(router, per_token) &&
      std::ranges::find(setup->parameters, per_token, &routing::NamedValue::name) ==
          setup->parameters.end()) {
    warnings.push_back({.code = "W-characters",
                        .message = fmt::format("{} counts characters, and prompts here are tokens: "
                                               "each counts for {:g}",
                                               router.name,
                                               setup->number(router.table(), per_token)),
                        .hint = "--chars-per-token"});
  }
}

}  // namespace ridgeline::sim
