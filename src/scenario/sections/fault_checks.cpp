#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cluster/faults/fault.hpp"
#include "cluster/faults/plan.hpp"
#include "core/article.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/findings.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/faults.hpp"
#include "scenario/sections/gateway.hpp"
#include "scenario/sections/pools.hpp"
#include "scenario/sections/router.hpp"
#include "scenario/sections/sections.hpp"

namespace ridgeline::scenario {
namespace {

using faults::FaultKind;

std::string_view name_of(FaultKind kind) {
  return faults::kFaultKindNames[static_cast<std::size_t>(kind)];
}

/// One fault of that kind, as a sentence begins.
std::string one(FaultKind kind) {
  return core::with_article(name_of(kind));
}

/// Links that there are.
void check_links(const FaultSettings& settings, Findings& findings) {
  const ClusterSection& cluster = findings.scenario().run.cluster;
  const auto refuse_without_kv = [&](FaultKind kind) {
    findings.problem(kFaultsPath,
                     fmt::format("{}, but no KV is sent from instance to instance without "
                                 "cluster.disaggregation.prefill_instances",
                                 one(kind)),
                     "a crash, hang or slowdown of an instance");
  };
  for (const faults::RandomFaults& random : settings.random) {
    if (is_of_link(random.kind) && !cluster.disaggregation.prefill_instances) {
      refuse_without_kv(random.kind);
    }
  }
  for (const FaultEntry& entry : settings.listed) {
    if (!is_of_link(entry.fault.kind)) {
      continue;
    }
    if (!cluster.disaggregation.prefill_instances) {
      refuse_without_kv(entry.fault.kind);
    } else if (!entry.host && !cluster.kv_transfer.fabric_bandwidth) {
      findings.problem(kFaultsPath,
                       fmt::format("{} of the fabric, which has no limit without "
                                   "cluster.kv_transfer.fabric_bandwidth",
                                   one(entry.fault.kind)),
                       "a host, as in link-down@60s+10s:0");
    }
  }
}

/// Hosts and pools that there are.
void check_places(const FaultSettings& settings, Findings& findings) {
  const ClusterSection& cluster = findings.scenario().run.cluster;
  const std::int64_t per_host = cluster.kv_transfer.instances_per_host.value_or(1);
  std::vector<std::string> names;
  if (const auto pools = read_pools(cluster, findings.scenario().deployment); pools) {
    for (const PoolSection& pool : *pools) {
      names.push_back(pool.name);
    }
  }
  if (cluster.disaggregation.prefill_instances) {
    names.insert(names.end(), {"prefill", "decode"});
  }
  for (const FaultEntry& entry : settings.listed) {
    if (entry.host && cluster.autoscaling.name) {
      findings.problem(kFaultsPath,
                       fmt::format("instances of host {} may have been scaled away", *entry.host),
                       "a share of the instances");
    } else if (entry.host && *entry.host * per_host >= *cluster.instances) {
      findings.problem(
          kFaultsPath,
          fmt::format(
              "{} of host {}, of {} that count from 0 with {} on each",
              core::with_article(is_of_link(entry.fault.kind) ? name_of(entry.fault.kind)
                                                              : kNodeLoss),
              *entry.host,
              (*cluster.instances + per_host - 1) / per_host,
              per_host == 1 ? std::string("an instance") : fmt::format("{} instances", per_host)));
    }
    if (!entry.pool.empty() && std::ranges::find(names, entry.pool) == names.end()) {
      findings.problem(kFaultsPath,
                       fmt::format("no pool '{}'", entry.pool),
                       names.empty() ? std::string("without cluster.pools: a share")
                                     : fmt::format("one of {}", fmt::join(names, ", ")));
    }
  }
}

/// Why the instance of that number may not be there when a fault strikes; empty: it always is.
std::string why_gone(const ClusterSection& cluster, std::int64_t number) {
  const AutoscalingSection& scaling = cluster.autoscaling;
  if (!scaling.name) {
    return "";
  }
  if (cluster.pools) {
    return ", as pools are scaled by themselves";
  }
  const std::int64_t prefill = cluster.disaggregation.prefill_instances.value_or(0);
  if (number < prefill) {
    const std::int64_t kept =
        scaling.prefill_max_replicas ? scaling.prefill_min_replicas.value_or(1) : prefill;
    return number < kept ? "" : fmt::format(": prefill_min_replicas is {}", kept);
  }
  const std::int64_t kept = scaling.min_replicas.value_or(1);
  return number - prefill < kept ? "" : fmt::format(": min_replicas is {}", kept);
}

/// Faults strike instances that exist, and whose number says which they are.
void check_instances(const FaultSettings& settings, Findings& findings) {
  const ClusterSection& cluster = findings.scenario().run.cluster;
  const std::int64_t instances = *cluster.instances;
  for (const faults::ListedFault& listed : settings.listed) {
    if (!listed.fault.instance.valid()) {
      continue;
    }
    const auto number = static_cast<std::int64_t>(listed.fault.instance.value());
    if (number >= instances) {
      findings.problem(kFaultsPath,
                       fmt::format("{} of instance {}, of {} that count from 0",
                                   one(listed.fault.kind),
                                   number,
                                   instances));
    } else if (const std::string why = why_gone(cluster, number); !why.empty()) {
      findings.problem(kFaultsPath,
                       fmt::format("instance {} may have been scaled away{}", number, why),
                       "a share of the instances, or by chance: crash~1h/5m");
    }
  }
}

/// Lost KV events are missed by a policy that follows them, of an engine that tells when they were.
void check_events(const FaultSettings& settings, Findings& findings) {
  const Scenario& scenario = findings.scenario();
  const auto loses_events = [](const FaultEntry& entry) {
    return entry.fault.kind == FaultKind::kEventLoss;
  };
  if (std::ranges::none_of(settings.listed, loses_events)) {
    return;
  }
  const std::string name = router_name(scenario.run.cluster.router);
  const auto router = routing::find_router(name);
  if (router && !(*router)->make({})->needs().cache) {
    findings.problem(kFaultsPath,
                     fmt::format("an event-loss, but the policy {} follows no KV events", name),
                     "--router llm-d-precise, or remove it");
  }
  if (named_version(scenario.deployment.engine.version).starts_with("sglang")) {
    findings.problem(kFaultsPath,
                     "an event-loss of sglang, whose cache is known here as it is, at any delay",
                     "an engine of vLLM");
  }
}

/// Gauges that cannot be read are missed by a gateway that reads them.
void check_gauges(const FaultSettings& settings, Findings& findings) {
  const ClusterSection& cluster = findings.scenario().run.cluster;
  const bool loses_gauges = std::ranges::any_of(settings.listed, [](const FaultEntry& entry) {
    return entry.fault.kind == FaultKind::kScrapeLoss;
  });
  if (loses_gauges && !reads_gauges(cluster)) {
    findings.problem(kFaultsPath,
                     fmt::format("a scrape-loss, but the policy {} reads no gauges",
                                 router_name(cluster.router)),
                     "--router llm-d, or remove it");
  }
}

/// Faults strike while requests are sent.
void check_times(const FaultSettings& settings, Findings& findings) {
  const auto& duration = findings.scenario().workload.duration;
  for (const faults::ListedFault& listed : settings.listed) {
    if (duration && listed.fault.at >= core::SimTime::at(*duration)) {
      findings.problem(
          kFaultsPath,
          fmt::format("{} at {:g}s, when no request is sent: workload.duration is {:g}s",
                      one(listed.fault.kind),
                      listed.fault.at.since_start().to_seconds(),
                      duration->to_seconds()),
          "an earlier fault, or a longer duration");
    }
  }
}

}  // namespace

void check_faults(Findings& findings) {
  const ClusterSection& cluster = findings.scenario().run.cluster;
  if (!cluster.instances) {
    return;  // check_cluster() says so.
  }
  auto settings = fault_settings(cluster.faults);
  if (!settings) {
    for (core::Error& error : settings.error()) {
      findings.errors().push_back(std::move(error));
    }
    return;
  }
  check_instances(*settings, findings);
  check_places(*settings, findings);
  check_links(*settings, findings);
  check_events(*settings, findings);
  check_gauges(*settings, findings);
  check_times(*settings, findings);
  const bool may_lose = cluster.faults || cluster.autoscaling.drain_timeout;
  for (const std::string_view path : {kMaxRetriesPath, kRetryBackoffPath}) {
    if (findings.given(path) && !may_lose) {
      findings.ignored(path, "no request is lost without cluster.faults");
    }
  }
  const bool may_hang =
      std::ranges::find(settings->random, FaultKind::kHang, &faults::RandomFaults::kind) !=
          settings->random.end() ||
      std::ranges::any_of(settings->listed, [](const faults::ListedFault& listed) {
        return listed.fault.kind == FaultKind::kHang;
      });
  for (const char* const path :
       {"cluster.health_check.probe_interval", "cluster.health_check.probe_failures"}) {
    if (findings.given(path) && !may_hang) {
      findings.ignored(path, "no instance hangs");
    }
  }
}

}  // namespace ridgeline::scenario
