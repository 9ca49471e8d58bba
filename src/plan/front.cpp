#include "plan/front.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/math.hpp"
#include "plan/cost.hpp"

namespace ridgeline::plan {

void find_pareto(Answer& answer) {
  const auto costs = [&](const PlanCandidate& candidate) {
    std::vector<double> found;
    for (const Objective objective : answer.question.objectives) {
      found.push_back(candidate.cost.of(objective).value_or(HUGE_VAL));
    }
    return found;
  };
  for (std::size_t i = 0; i < answer.candidates.size(); ++i) {
    PlanCandidate& one = answer.candidates[i];
    if (one.stage != Stage::kCertified || one.replicas == 0) {
      continue;
    }
    for (const PlanCandidate& other : answer.candidates) {
      if (&other == &one || other.stage != Stage::kCertified || other.replicas == 0) {
        continue;
      }
      const auto a = costs(one);
      const auto b = costs(other);
      bool is_worse = false;
      bool is_better = false;
      for (std::size_t k = 0; k < a.size(); ++k) {
        is_worse = is_worse || a[k] > b[k];
        is_better = is_better || a[k] < b[k];
      }
      if (is_worse && !is_better) {
        one.dominated_by = other.id;
        break;
      }
    }
    if (!one.dominated_by) {
      answer.pareto.push_back(i);
    }
  }
}

std::vector<std::size_t> best_of_other_gpus(const std::vector<Contender>& contenders,
                                            const std::vector<PlanCandidate>& candidates,
                                            const std::vector<std::size_t>& order) {
  const auto gpu = [&](std::size_t i) { return candidates[contenders[i].candidate].gpu; };
  std::map<std::string, std::pair<std::int64_t, std::size_t>> best;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const Contender& contender = contenders[i];
    const double sure = contender.capacity.load * core::exp(-contender.model_margin);
    const auto replicas = sure > 0.0 ? contender.rules.fewest(sure) : std::nullopt;
    const bool is_there =
        std::ranges::any_of(order, [&](std::size_t other) { return gpu(other) == gpu(i); });
    if (!replicas || is_there) {
      continue;
    }
    const std::int64_t gpus = *replicas * candidates[contender.candidate].gpus_per_replica;
    const auto [at, is_new] = best.try_emplace(gpu(i), gpus, i);
    if (!is_new && gpus < at->second.first) {
      at->second = {gpus, i};
    }
  }
  std::vector<std::size_t> found;
  found.reserve(best.size());
  for (const auto& [name, one] : best) {
    found.push_back(one.second);
  }
  return found;
}

}  // namespace ridgeline::plan
