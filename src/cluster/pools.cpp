#include "cluster/pools.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/distributions.hpp"
#include "core/ids.hpp"
#include "core/math.hpp"
#include "core/rng.hpp"
#include "engine/slowed_model.hpp"

namespace ridgeline::cluster {

bool have_ranks(const std::vector<InstancePool>& pools) {
  return std::ranges::any_of(pools,
                             [](const InstancePool& pool) { return pool.ranks_in_lock_step > 1; });
}

std::vector<std::size_t> pools_of_instances(const std::vector<InstancePool>& pools) {
  std::vector<std::size_t> of;
  for (std::size_t pool = 0; pool < pools.size(); ++pool) {
    of.insert(of.end(), static_cast<std::size_t>(pools[pool].instances), pool);
  }
  return of;
}

engine::Slowdown own_pace(double spread, core::InstanceId id, std::uint64_t seed) {
  if (spread <= 0.0) {
    return {};
  }
  core::RngStream draws(seed, 0, "spread", id.value());
  const double factor = core::exp(spread * core::normal(draws, 0.0, 1.0));
  return {.thousandths = std::max<std::int64_t>(
              std::llround(factor * static_cast<double>(engine::Slowdown::kWhole)), 1)};
}

}  // namespace ridgeline::cluster
