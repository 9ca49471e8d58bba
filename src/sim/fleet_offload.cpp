#include "sim/fleet_offload.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/kv_offload.hpp"
#include "cluster/link/kv_link.hpp"
#include "cluster/part.hpp"
#include "cluster/store/eviction.hpp"
#include "core/check.hpp"
#include "core/units.hpp"
#include "latency/step_time_model.hpp"
#include "metrics/offload_summary.hpp"
#include "metrics/summary.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/kv_offload.hpp"
#include "sim/fleet_pools.hpp"

namespace ridgeline::sim {
namespace {

static_assert(cluster::kNumTiers == scenario::kNumKvTiers);

/// Sets the names of one layout's blocks apart from those of others: odd, and half of its bits set
/// (the golden ratio in 64 bits).
constexpr std::uint64_t kKeySalt = 0x9E3779B97F4A7C15;

std::int64_t blocks_per_chunk(const scenario::Resolved& resolved,
                              const scenario::Deployment& deployment) {
  const std::int64_t tokens = deployment.engine.block_size.value();
  return resolved.run.cluster.kv_offload.offload_block_size.value_or(tokens) / tokens;
}

/// Whether either can use the KV that the other stored: stores name blocks by network, format and
/// share of a rank.
bool shares_kv(const scenario::Deployment& one, const scenario::Deployment& other) {
  const scenario::EngineSection& a = one.section.engine;
  const scenario::EngineSection& b = other.section.engine;
  return one.network.name == other.network.name && a.kv_cache_dtype == b.kv_cache_dtype &&
         one.engine.block_size == other.engine.block_size &&
         a.tensor_parallel_size == b.tensor_parallel_size &&
         a.pipeline_parallel_size == b.pipeline_parallel_size;
}

cluster::KvLayout layout_of(const scenario::Resolved& resolved,
                            const scenario::Deployment& deployment,
                            const latency::StepTimeModel& model) {
  const bool computes_sooner = resolved.run.cluster.kv_offload.load_policy == "faster";
  return {.block_tokens = deployment.engine.block_size,
          .bytes_per_block = scenario::kv_block_bytes(deployment),
          .blocks_per_chunk = blocks_per_chunk(resolved, deployment),
          .recompute = computes_sooner ? &model : nullptr};
}

/// One for each pool.
std::vector<cluster::KvLayout> layouts_of(const scenario::Resolved& resolved,
                                          const latency::StepTimeModel& model) {
  if (resolved.pools.empty()) {
    return {layout_of(resolved, *resolved.deployment, model)};
  }
  std::vector<cluster::KvLayout> layouts;
  for (const scenario::ResolvedPool& pool : resolved.pools) {
    const scenario::Deployment& own = *pool.deployment;
    const auto like = std::ranges::find_if(resolved.pools, [&](const scenario::ResolvedPool& one) {
      return shares_kv(*one.deployment, own);
    });
    layouts.push_back(layout_of(resolved, own, *own.latency));
    layouts.back().key_salt = kKeySalt * static_cast<std::uint64_t>(like - resolved.pools.begin());
  }
  return layouts;
}

cluster::OffloadOptions offload_options(const scenario::Resolved& resolved,
                                        const latency::StepTimeModel& model) {
  const scenario::ClusterSection& cluster = resolved.run.cluster;
  const scenario::KvOffloadSection& section = cluster.kv_offload;
  const auto tiers = scenario::kv_tiers(section);
  RIDGELINE_CHECK(tiers.has_value(), "a scenario's rules read its tiers");
  cluster::OffloadOptions options;
  options.store_rate = tiers->store_rate;
  options.instances_per_host = cluster.kv_transfer.instances_per_host.value_or(1);
  options.layouts = layouts_of(resolved, model);
  options.layout_of = pools_of_instances(resolved);
  options.rules = section.rules;
  options.write_back = section.write_policy == "write_back";
  options.stores_answers = !section.offload_prompt_only.value_or(true);
  options.sharing =
      section.offload_sharing == "max-min" ? link::Sharing::kMaxMin : link::Sharing::kFifo;
  for (std::size_t i = 0; i < cluster::kNumTiers; ++i) {
    const scenario::KvTier& tier = tiers->tiers[i];
    const store::EvictionEntry* const eviction = store::find_eviction(tier.eviction);
    RIDGELINE_CHECK(eviction != nullptr, "a scenario's rules look policies up");
    options.tiers[i] = {.bytes = tier.bytes,
                        .eviction = eviction->make,
                        .read_rate = tier.read_rate,
                        .write_rate = tier.write_rate,
                        .latency = tier.latency};
  }
  return options;
}

/// Tokens of a tier's block, where it is the same in all pools.
std::optional<std::int64_t> block_tokens(const scenario::Resolved& resolved) {
  const auto of = [&](const scenario::Deployment& deployment) {
    return blocks_per_chunk(resolved, deployment) * deployment.engine.block_size.value();
  };
  const std::int64_t first = of(*resolved.deployment);
  const bool is_common = std::ranges::all_of(
      resolved.pools,
      [&](const scenario::ResolvedPool& pool) { return of(*pool.deployment) == first; });
  return is_common ? std::optional(first) : std::nullopt;
}

std::optional<double> share(double part, double whole) {
  return whole > 0.0 ? std::optional(part / whole) : std::nullopt;
}

}  // namespace

bool has_kv_tiers(const scenario::Resolved& resolved) {
  return resolved.run.cluster.kv_offload.has_tier();
}

std::optional<cluster::PartMaker> offload_maker(const scenario::Resolved& resolved,
                                                const latency::StepTimeModel& model,
                                                const cluster::KvOffload*& part) {
  if (!has_kv_tiers(resolved)) {
    return std::nullopt;
  }
  return cluster::PartMaker{
      .kind = cluster::PartKind::kLinks, .make = [&resolved, &model, &part](cluster::Fleet& fleet) {
        auto made = std::make_unique<cluster::KvOffload>(offload_options(resolved, model), fleet);
        part = made.get();
        return made;
      }};
}

void fill_offload(const scenario::Resolved& resolved,
                  const cluster::KvOffload* part,
                  double seconds,
                  metrics::Summary& summary) {
  if (part == nullptr) {
    return;
  }
  const cluster::OffloadTotals totals = part->totals();
  metrics::OffloadSummary all{
      .block_tokens = block_tokens(resolved),
      .query_tokens = totals.queries.value(),
      .hit_tokens = totals.hits.value(),
      .hit_rate = share(static_cast<double>(totals.hits.value()),
                        static_cast<double>(totals.queries.value())),
      .loads = totals.loads,
      .load_ms = share(totals.load_time.to_milliseconds(), static_cast<double>(totals.loads)),
      .recomputed = totals.recomputed,
      .tiers = {}};
  for (std::size_t i = 0; i < cluster::kNumTiers; ++i) {
    const cluster::TierUse& use = totals.tiers[i];
    if (use.capacity == 0) {
      continue;
    }
    const auto utilisation = [&](std::int64_t bytes, std::int64_t rate) {
      return share(static_cast<double>(bytes), static_cast<double>(rate) * seconds);
    };
    all.tiers.push_back(
        {.tier = std::string(cluster::kTierNames[i]),
         .capacity_blocks = use.capacity,
         .peak_blocks = use.blocks.peak,
         .hit_tokens = use.hits.value(),
         .loads = use.loads,
         .bytes_read = use.bytes_read,
         .read_ms = share(use.read_time.to_milliseconds(), static_cast<double>(use.loads)),
         .bytes_written = use.bytes_written,
         .blocks_written = use.blocks.written,
         .blocks_evicted = use.blocks.evicted,
         .blocks_refused = use.blocks.refused,
         .read_utilisation = utilisation(use.read_link_bytes, use.read_rate),
         .write_utilisation = utilisation(use.write_link_bytes, use.write_rate)});
  }
  summary.fleet->offload = std::move(all);
}

}  // namespace ridgeline::sim
