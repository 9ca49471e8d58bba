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

namespace {

/// Numbers this near to each other are the same to three digits; capacities this near, by what
/// their runs can tell.
constexpr double kSameNumber = 0.005;
constexpr double kSameCapacity = 0.01;

/// Ranks bounds that are accepted among the deployments that cost in the same unit: `other` among
/// `own`, whose place the one with the cheaper pick takes.
void accept(Answer& own, Answer& other, const Answer& answer) {
  const auto cost = [&](std::size_t i) {
    const PlanCandidate& candidate = answer.candidates[i];
    return candidate.unit_cost * core::real(candidate.replicas);
  };
  std::vector<std::size_t> all = std::move(own.ranking);
  all.insert(all.end(), other.ranking.begin(), other.ranking.end());
  if (other.pick && (!own.pick || cost(*other.pick) < cost(*own.pick))) {
    std::swap(own, other);
  }
  std::ranges::stable_sort(
      all, {}, [&](std::size_t i) { return std::pair(own.pick != i, cost(i)); });
  all.resize(std::min(all.size(), static_cast<std::size_t>(answer.question.top_n)));
  own.ranking = std::move(all);
  other.ranking.clear();
}

/// Whether two deployments of the same GPUs have the same numbers, as far as they are shown.
bool are_twins(const PlanCandidate& one, const PlanCandidate& other) {
  const auto same = [](double a, double b, double part) {
    return std::abs(a - b) <= part * std::max(std::abs(a), std::abs(b));
  };
  bool are = one.model == other.model && one.gpu == other.gpu && one.engine == other.engine &&
             one.split == other.split && one.gpus_per_replica == other.gpus_per_replica &&
             one.replicas == other.replicas &&
             same(one.capacity->value, other.capacity->value, kSameCapacity);
  for (std::size_t i = 0; are && i < one.targets.size(); ++i) {
    const auto& a = one.targets[i].value_ms;
    const auto& b = other.targets[i].value_ms;
    are = a && b ? same(a->value, b->value, kSameNumber)
                 : one.targets[i].exceed_share == other.targets[i].exceed_share;
  }
  return are;
}

}  // namespace

void rank(std::size_t candidate, std::int64_t top_n, Answer& answer) {
  for (const std::size_t ranked : answer.ranking) {
    if (are_twins(answer.candidates[ranked], answer.candidates[candidate])) {
      answer.candidates[ranked].twins.push_back(candidate);
      return;
    }
  }
  if (answer.ranking.size() < static_cast<std::size_t>(top_n)) {
    answer.ranking.push_back(candidate);
  }
}

void rank_standings(std::array<Answer, kStandings.size()>& found, Answer& answer) {
  const auto of = [&](Standing standing) -> Answer& {
    return found[static_cast<std::size_t>(standing)];
  };
  for (const auto& [standing, bounds] : {std::pair(Standing::kRanked, Standing::kAtBest),
                                         std::pair(Standing::kNoPrice, Standing::kAtBestNoPrice)}) {
    if (answer.question.accept_bounds) {
      accept(of(standing), of(bounds), answer);
    }
    of(bounds).pick.reset();
  }
  const auto lead =
      std::ranges::find_if(found, [](const Answer& one) { return one.pick.has_value(); });
  const auto first =
      std::ranges::find_if(found, [](const Answer& one) { return !one.ranking.empty(); });
  const auto answered = lead != found.end() ? lead : first;
  if (answered == found.end()) {
    return;
  }
  Answer& best = *answered;
  answer.pick = best.pick;
  answer.ranking = std::move(best.ranking);
  best.ranking.clear();
  answer.factors = std::move(best.factors);
  answer.elasticities = std::move(best.elasticities);
  answer.finalists = std::move(best.finalists);
  answer.measurements = std::move(best.measurements);
  answer.breakevens = std::move(best.breakevens);
  answer.amplification = best.amplification;
  answer.expected_regret_pct = best.expected_regret_pct;
  answer.headroom_pct = best.headroom_pct;
  answer.cheaper = best.cheaper;
  answer.warnings.insert(answer.warnings.end(), best.warnings.begin(), best.warnings.end());
  for (const Answer& other : found) {
    std::vector<std::string> gpus;
    for (const std::size_t i : other.ranking) {
      const std::string& gpu = answer.candidates[i].gpu;
      if (std::ranges::find(gpus, gpu) == gpus.end()) {
        gpus.push_back(gpu);
        answer.ranking.push_back(i);
      }
    }
  }
}

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
    const auto takes_part = [&](const PlanCandidate& other) {
      return other.stage == Stage::kCertified && other.replicas > 0 &&
             (!other.is_bound() || answer.question.accept_bounds);
    };
    if (!takes_part(one)) {
      continue;
    }
    for (const PlanCandidate& other : answer.candidates) {
      if (&other == &one || !takes_part(other)) {
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
    const auto replicas = contender.rules.fewest(contender.capacity.load);
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
