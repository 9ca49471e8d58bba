#include "scenario/sections/cluster.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/findings.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/pools.hpp"
#include "scenario/sections/sections.hpp"

namespace ridgeline::scenario {
namespace {

constexpr std::string_view kInstances = "cluster.instances";

// clang-format off
constexpr auto kClusterOptions = std::to_array<Option>({
    {.path = kInstances, .flag = "instances",
     .lowest = 1, .highest = kMaxInstances, .unset = "one, without a gateway",
     .help = "Instances of the deployment behind a gateway, each with its own GPUs and KV cache", .example = "8",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.instances; }},
    {.path = "cluster.price_per_hour", .flag = "price-per-hour", .lowest = 0, .highest = 1e9, .unset = "none: no costs",
     .help = "US dollars for a GPU and hour", .example = "2.5",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.price_per_hour; }},
});
// clang-format on

}  // namespace

std::span<const Option> cluster_options() {
  return kClusterOptions;
}

namespace {

/// Instances that are data-parallel ranks, so many to a deployment.
void check_ranks(const Scenario& scenario,
                 const std::vector<PoolSection>& pools,
                 Findings& findings) {
  const ClusterSection& cluster = scenario.run.cluster;
  const auto whole = [&](const std::string& path,
                         const EngineSection& engine,
                         std::int64_t instances,
                         const core::Location& where) {
    const std::int64_t ranks = attention_ranks(engine).ranks;
    if (instances % ranks == 0) {
      return;
    }
    findings.errors().push_back(
        {.field = path,
         .message = fmt::format(
             "found {}, expected a multiple of {}, {}: each rank is an instance",
             instances,
             has_own_settings(engine) ? "the ranks of the attention" : "data_parallel_size",
             ranks),
         .where = where,
         .hint = fmt::format("{}", (instances / ranks + 1) * ranks)});
  };
  const auto place_of = [&](std::string_view path) { return findings.loaded().of(path).where; };
  constexpr std::string_view kPrefill = "cluster.disaggregation.prefill_instances";
  const auto& prefill = cluster.disaggregation.prefill_instances;
  std::int64_t before = 0;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const PoolSection& pool = pools[i];
    whole(pool_path(i, "instances"), pool.deployment.engine, pool.instances, pool.node.where());
    if (prefill && *prefill > before && *prefill < before + pool.instances) {
      whole(std::string(kPrefill), pool.deployment.engine, *prefill - before, place_of(kPrefill));
    }
    before += pool.instances;
  }
  if (pools.empty()) {
    whole(std::string(kInstances),
          scenario.deployment.engine,
          cluster.instances.value_or(0),
          place_of(kInstances));
    whole(
        std::string(kPrefill), scenario.deployment.engine, prefill.value_or(0), place_of(kPrefill));
  }
  const auto only_whole = [&](std::string_view path, bool asked, std::string_view what) {
    if (asked) {
      findings.problem(
          path,
          fmt::format("{} where data-parallel ranks are instances are not simulated", what),
          "--data-parallel-size 1, where the ranks share no experts");
    }
  };
  only_whole("cluster.spread", cluster.spread.has_value(), "instances of a pace of their own");
  only_whole("cluster.faults", cluster.faults.has_value(), "faults");
  only_whole("cluster.autoscaling.name",
             cluster.autoscaling.name.has_value(),
             "instances that come and go");
  only_whole("cluster.rolling_update.update_at",
             cluster.rolling_update.update_at.has_value(),
             "instances that come and go");
  only_whole("engine.pipeline_parallel_size",
             scenario.deployment.engine.pipeline_parallel_size > 1,
             "stages of a pipeline");
}

}  // namespace

void check_cluster(Findings& findings) {
  if (ClusterSection& cluster = findings.loaded().scenario.run.cluster;
      !cluster.instances && cluster.kv_offload.has_tier()) {
    // Tiers need no second instance; where experts are shared they are of all ranks of one engine.
    cluster.instances = attention_ranks(findings.scenario().deployment.engine).ranks;
  }
  constexpr std::string_view kPrefill = "cluster.disaggregation.prefill_instances";
  const ClusterSection& section = findings.scenario().run.cluster;
  if (const auto& apart = section.disaggregation; !section.instances && apart.prefill_instances) {
    findings.problem(
        kPrefill,
        "would be ignored without cluster.instances, the prefill and decode instances together",
        fmt::format(
            "--instances {}",
            *apart.prefill_instances + apart.decode_instances.value_or(*apart.prefill_instances)));
    return;
  }
  if (!findings.scenario().run.cluster.instances) {
    for (const Option& option : options()) {
      if (option.path.starts_with("cluster.") && findings.given(option.path)) {
        findings.problem(option.path,
                         "would be ignored: there is no gateway without cluster.instances",
                         "--instances 2, or remove this setting");
      }
    }
    return;
  }
  const auto pools = read_pools(section, findings.scenario().deployment);
  const bool have_ranks = pools && pools->empty()
                              ? attention_ranks(findings.scenario().deployment.engine).ranks > 1
                              : pools && std::ranges::any_of(*pools, [](const PoolSection& pool) {
                                  return attention_ranks(pool.deployment.engine).ranks > 1;
                                });
  if (have_ranks) {
    check_ranks(findings.scenario(), *pools, findings);
  }
}

}  // namespace ridgeline::scenario
