#include "cluster/scaling/victim.hpp"

#include <cstddef>
#include <span>
#include <tuple>

#include "core/check.hpp"

namespace ridgeline::scaling {

std::size_t victim(std::span<const VictimCandidate> candidates, VictimPolicy policy) {
  RIDGELINE_CHECK(!candidates.empty(), "a replica goes where there is one");
  const auto rank = [&](const VictimCandidate& one) {
    const std::int64_t load = policy == VictimPolicy::kLeastLoaded ? one.requests : 0;
    return std::tuple(!one.is_ready, -load, one.created, one.id);
  };
  std::size_t chosen = 0;
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    chosen = rank(candidates[i]) > rank(candidates[chosen]) ? i : chosen;
  }
  return chosen;
}

}  // namespace ridgeline::scaling
