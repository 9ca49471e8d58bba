#include "sim/series.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/time.hpp"
#include "core/units.hpp"
#include "metrics/fine_counts.hpp"
#include "metrics/series.hpp"
#include "metrics/timeline.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "sim/fleet_pools.hpp"
#include "sim/operations.hpp"

namespace ridgeline::sim {
namespace {

/// Tokens of one instance's blocks, the null block apart; nothing where layers differ in what they
/// keep, so that a token has no fixed number of blocks.
std::optional<std::int64_t> capacity_of(const scenario::Deployment& deployment) {
  if (deployment.memory.num_groups() > 1) {
    return std::nullopt;
  }
  return (deployment.engine.num_gpu_blocks.value() - 1) * deployment.engine.block_size.value();
}

}  // namespace

metrics::TimelineOptions timeline_options(const scenario::Resolved& resolved,
                                          const metrics::SloTargets& slo,
                                          std::size_t windows) {
  metrics::TimelineOptions options;
  options.windows = windows;
  options.slo = slo;
  options.seed = static_cast<std::uint64_t>(resolved.run.seed);
  options.instances = std::max<std::int64_t>(num_places(resolved), 1);
  if (resolved.run.warmup) {
    options.warmup = core::SimTime::at(*resolved.run.warmup);
  }
  return options;
}

metrics::Series series_of(const scenario::Resolved& resolved,
                          const metrics::Timeline& timeline,
                          const metrics::QuantileCurves& curves) {
  metrics::Series series = timeline.series();
  series.probabilities = metrics::series_probabilities();
  series.quantiles_ms = curves.latencies_ms;
  series.itl_ms = curves.itl_ms;
  if (resolved.pools.empty()) {
    series.kv_capacity = capacity_of(*resolved.deployment);
    return series;
  }
  std::int64_t capacity = 0;
  for (const scenario::ResolvedPool& pool : resolved.pools) {
    const auto own = capacity_of(*pool.deployment);
    if (!own) {
      return series;
    }
    capacity += *own * places_of_pool(resolved, pool.section);
  }
  // Mean over the instances, as the gauges are.
  series.kv_capacity = capacity / series.instances;
  return series;
}

}  // namespace ridgeline::sim
