#include "scenario/sections/rolling_update.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster/scaling/rolling_update.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "scenario/findings.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/autoscaling.hpp"
#include "scenario/sections/cluster.hpp"
#include "scenario/sections/pools.hpp"
#include "scenario/sections/sections.hpp"

namespace ridgeline::scenario {
namespace {

constexpr std::string_view kAt = "cluster.rolling_update.update_at";
constexpr std::string_view kSurge = "cluster.rolling_update.max_surge";
constexpr std::string_view kUnavailable = "cluster.rolling_update.max_unavailable";
constexpr std::string_view kPool = "cluster.rolling_update.update_pool";

// clang-format off
constexpr auto kRollingUpdateOptions = std::to_array<Option>({
    {.path = kAt, .flag = "update-at", .unit = "s", .lowest = 0, .highest = kMaxSeconds, .unset = "never",
     .help = "When a rolling update begins: every instance is replaced by a new one, batch by batch, as a Kubernetes Deployment does", .example = "600s",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.rolling_update.update_at; }},
    {.path = kSurge, .flag = "max-surge", .unit = kCountOrShare, .unset = "25%",
     .help = "How many instances more there may be meanwhile; a share of them is rounded up", .example = "2",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.rolling_update.max_surge; }},
    {.path = kUnavailable, .flag = "max-unavailable", .unit = kCountOrShare, .unset = "25%",
     .help = "How many may be missing meanwhile; a share of them is rounded down, and 1 where both come to 0", .example = "0",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.rolling_update.max_unavailable; }},
    {.path = kPool, .flag = "update-pool", .unset = "all, each kind by itself",
     .help = "Which instances are updated: a pool's name, or prefill or decode where they are apart and no pools are listed", .example = "decode",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.rolling_update.update_pool; }},
});
// clang-format on

std::optional<scaling::CountOrPercent> read_count(std::string_view path,
                                                  const std::optional<std::string>& text,
                                                  scaling::CountOrPercent standard,
                                                  Findings& findings) {
  if (!text) {
    return standard;
  }
  const auto read = scaling::count_or_percent(*text);
  if (!read || read->value > kMaxInstances) {
    findings.problem(path,
                     fmt::format("found {}, expected a number of instances, or a share of them "
                                 "from 0% to 100%",
                                 core::quote(*text)),
                     "2, or 25%");
    return std::nullopt;
  }
  return read;
}

/// What can be updated by a name, and how many there are of it at most.
using Kinds = std::vector<std::pair<std::string, std::int64_t>>;

Kinds kinds_of(const Findings& findings) {
  const ClusterSection& cluster = findings.scenario().run.cluster;
  const auto pools = read_pools(cluster, findings.scenario().deployment);
  const auto& prefill = cluster.disaggregation.prefill_instances;
  const AutoscalingSection& scaling = cluster.autoscaling;
  if (prefill && !(pools && pools->size() > 1)) {
    return {{"prefill", scaling.name ? scaling.prefill_max_replicas.value_or(*prefill) : *prefill},
            {"decode", most_instances(scaling, *cluster.instances - *prefill)}};
  }
  Kinds kinds;
  if (pools) {
    for (const PoolSection& pool : *pools) {
      kinds.emplace_back(pool.name, most_instances(autoscaling_of(scaling, pool), pool.instances));
    }
  }
  return kinds;
}

void check_pool(const Kinds& kinds, Findings& findings) {
  const auto& pool = findings.scenario().run.cluster.rolling_update.update_pool;
  if (!pool || std::ranges::find(kinds, *pool, &Kinds::value_type::first) != kinds.end()) {
    return;
  }
  std::vector<std::string> names;
  for (const auto& [name, count] : kinds) {
    names.push_back(name);
  }
  const auto meant = document::nearest(*pool, names);
  findings.problem(kPool,
                   fmt::format("no pool {}", core::quote(*pool)),
                   meant           ? fmt::format("did you mean '{}'?", *meant)
                   : names.empty() ? std::string("all instances are alike: remove it")
                                   : fmt::format("one of {}", fmt::join(names, ", ")));
}

/// There are places for the surge.
void check_surge(const Kinds& kinds, Findings& findings) {
  const ClusterSection& cluster = findings.scenario().run.cluster;
  std::int64_t places =
      kinds.empty()
          ? with_surge(
                cluster.rolling_update, "", most_instances(cluster.autoscaling, *cluster.instances))
          : 0;
  for (const auto& [name, count] : kinds) {
    places += with_surge(cluster.rolling_update, name, count);
  }
  if (places > kMaxInstances) {
    findings.problem(kSurge,
                     fmt::format("{} instances at most in all are out of range, expected {} at "
                                 "most",
                                 places,
                                 kMaxInstances),
                     "a smaller max_surge");
  }
}

}  // namespace

std::optional<scaling::UpdateRule> update_of(const RollingUpdateSection& section,
                                             std::string_view pool) {
  if (!section.update_at || (section.update_pool && *section.update_pool != pool)) {
    return std::nullopt;
  }
  const auto count = [](const std::optional<std::string>& text, scaling::CountOrPercent standard) {
    return text ? scaling::count_or_percent(*text).value_or(standard) : standard;
  };
  return scaling::UpdateRule{
      .surge = count(section.max_surge, scaling::kDefaultSurge),
      .unavailable = count(section.max_unavailable, scaling::kDefaultUnavailable)};
}

std::int64_t with_surge(const RollingUpdateSection& section,
                        std::string_view pool,
                        std::int64_t instances) {
  const auto update = update_of(section, pool);
  return instances + (update ? scaling::update_limits(instances, *update).surge : 0);
}

std::span<const Option> rolling_update_options() {
  return kRollingUpdateOptions;
}

void check_rolling_update(Findings& findings) {
  const ClusterSection& cluster = findings.scenario().run.cluster;
  const RollingUpdateSection& section = cluster.rolling_update;
  if (!cluster.instances) {
    return;  // check_cluster() says so.
  }
  if (!section.update_at) {
    for (const std::string_view path : {kSurge, kUnavailable, kPool}) {
      if (findings.given(path)) {
        findings.problem(
            path,
            "would be ignored: there is no update without cluster.rolling_update.update_at",
            "--update-at 600s, or remove this setting");
      }
    }
    return;
  }
  if (const auto& duration = findings.scenario().workload.duration;
      duration && *section.update_at >= *duration) {
    findings.problem(kAt,
                     fmt::format("an update at {:g}s, when no request is sent: workload.duration "
                                 "is {:g}s",
                                 section.update_at->to_seconds(),
                                 duration->to_seconds()),
                     "an earlier update, or a longer duration");
  }
  const auto surge = read_count(kSurge, section.max_surge, scaling::kDefaultSurge, findings);
  const auto unavailable =
      read_count(kUnavailable, section.max_unavailable, scaling::kDefaultUnavailable, findings);
  if (surge && unavailable && surge->value == 0 && unavailable->value == 0) {
    findings.problem(kUnavailable,
                     "is 0, as max_surge is: no instance could be replaced",
                     "--max-surge 1, or --max-unavailable 1");
  }
  const Kinds kinds = kinds_of(findings);
  check_pool(kinds, findings);
  check_surge(kinds, findings);
}

}  // namespace ridgeline::scenario
