#include "sim/fleet_offload.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cluster/kv_offload.hpp"
#include "cluster/part.hpp"
#include "core/check.hpp"
#include "core/units.hpp"
#include "latency/step_time_model.hpp"
#include "link/kv_link.hpp"
#include "metrics/offload_summary.hpp"
#include "metrics/summary.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/kv_offload.hpp"
#include "store/eviction.hpp"

namespace ridgeline::sim {
namespace {

static_assert(cluster::kNumTiers == scenario::kNumKvTiers);

std::int64_t blocks_per_chunk(const scenario::Resolved& resolved) {
  const std::int64_t tokens = resolved.deployment->engine.block_size.value();
  return resolved.run.cluster.kv_offload.offload_block_size.value_or(tokens) / tokens;
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
  options.block_tokens = resolved.deployment->engine.block_size;
  options.bytes_per_block = scenario::kv_block_bytes(*resolved.deployment);
  options.blocks_per_chunk = blocks_per_chunk(resolved);
  options.promote_on_hit = section.promote_on_hit.value_or(true);
  options.write_back = section.write_policy == "write_back";
  options.stores_answers = !section.offload_prompt_only.value_or(true);
  options.min_hit_blocks = section.min_hit_blocks.value_or(1);
  options.store_threshold = section.store_threshold.value_or(0);
  options.recompute = section.load_policy == "faster" ? &model : nullptr;
  options.sharing =
      section.offload_sharing == "max-min" ? link::Sharing::kMaxMin : link::Sharing::kFifo;
  for (std::size_t i = 0; i < cluster::kNumTiers; ++i) {
    const scenario::KvTier& tier = tiers->tiers[i];
    const store::EvictionEntry* const eviction = store::find_eviction(tier.eviction);
    RIDGELINE_CHECK(eviction != nullptr, "a scenario's rules look policies up");
    options.tiers[i] = {.blocks = tier.bytes / (options.bytes_per_block * options.blocks_per_chunk),
                        .eviction = eviction->make,
                        .read_rate = tier.read_rate,
                        .write_rate = tier.write_rate,
                        .latency = tier.latency};
  }
  return options;
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
                  metrics::Summary& summary) {
  if (part == nullptr) {
    return;
  }
  const cluster::OffloadTotals totals = part->totals();
  const std::int64_t tokens = resolved.deployment->engine.block_size.value();
  const double seconds = summary.duration_s.value_or(0.0);
  metrics::OffloadSummary all{
      .block_tokens = tokens * blocks_per_chunk(resolved),
      .query_tokens = totals.queries * tokens,
      .hit_tokens = totals.hits * tokens,
      .hit_rate = share(static_cast<double>(totals.hits), static_cast<double>(totals.queries)),
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
         .hit_tokens = use.hit_blocks * tokens,
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
