#include "cluster/scaling/rules.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace ridgeline::scaling {
namespace {

/// The mean spare capacity, and whether one replica less still leaves both triggers.
void judge_spare(const std::vector<ReplicaGauges>& replicas,
                 const SpareThresholds& thresholds,
                 SpareDecision& decision) {
  for (const ReplicaGauges& replica : replicas) {
    if (replica.kv_usage < thresholds.kv && replica.waiting < thresholds.queue) {
      ++decision.unsaturated;
      decision.spare_kv += thresholds.kv - replica.kv_usage;
      decision.spare_queue += thresholds.queue - replica.waiting;
    }
  }
  if (decision.unsaturated == 0) {
    decision.up = !replicas.empty();
    return;
  }
  const auto count = static_cast<double>(decision.unsaturated);
  decision.spare_kv /= count;
  decision.spare_queue /= count;
  decision.up =
      decision.spare_kv < thresholds.kv_trigger || decision.spare_queue < thresholds.queue_trigger;
  if (decision.unsaturated >= 2) {
    const double more = count / (count - 1.0);
    const double kv = thresholds.kv - (thresholds.kv - decision.spare_kv) * more;
    const double queue = thresholds.queue - (thresholds.queue - decision.spare_queue) * more;
    decision.down_is_safe = kv >= thresholds.kv_trigger && queue >= thresholds.queue_trigger;
  }
}

}  // namespace

SpareDecision spare_capacity(const std::vector<ReplicaGauges>& replicas,
                             const std::vector<VariantCounts>& variants,
                             const SpareThresholds& thresholds) {
  SpareDecision decision;
  judge_spare(replicas, thresholds, decision);
  std::vector<std::int64_t> seen(variants.size());
  for (const ReplicaGauges& replica : replicas) {
    ++seen[replica.variant];
  }
  bool settled = true;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const VariantCounts& variant = variants[i];
    const bool desired = variant.desired != 0 && variant.desired != variant.current;
    decision.targets.push_back(desired ? variant.desired : variant.current);
    settled = settled && !desired && seen[i] == variant.current;
  }
  if (!settled || replicas.empty()) {
    return decision;
  }
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const bool may = decision.up
                         ? variants[i].pending == 0 && variants[i].current < variants[i].most
                         : variants[i].current > std::max<std::int64_t>(variants[i].fewest, 1);
    const bool better = !chosen || (decision.up ? variants[i].cost < variants[*chosen].cost
                                                : variants[i].cost > variants[*chosen].cost);
    chosen = may && better ? i : chosen;
  }
  if (chosen && (decision.up || decision.down_is_safe)) {
    decision.targets[*chosen] += decision.up ? 1 : -1;
  }
  return decision;
}

TokenDecision token_capacity(const std::vector<ReplicaTokens>& replicas,
                             double pending_capacity,
                             const TokenThresholds& thresholds) {
  TokenDecision decision;
  double largest = 0.0;
  std::map<std::size_t, ReplicaTokens> variants;
  for (const ReplicaTokens& replica : replicas) {
    const double supply = replica.kv_capacity * thresholds.kv;
    decision.supply += supply;
    decision.demand += replica.kv_in_use + replica.waiting * thresholds.mean_input;
    largest = std::max(largest, supply);
    variants.try_emplace(replica.variant, replica);
  }
  if (variants.empty()) {
    return decision;
  }
  decision.required = std::max(
      0.0, decision.demand / thresholds.up - (decision.supply + pending_capacity * thresholds.kv));
  const double needed = decision.demand / thresholds.down;
  if (decision.required == 0.0 && replicas.size() >= 2 && decision.supply - largest > needed) {
    decision.spare = decision.supply - needed;
  }
  const auto cost = [](const auto& entry) { return entry.second.cost; };
  if (decision.required > 0.0) {
    const auto cheapest = std::ranges::min_element(variants, {}, cost);
    decision.variant = cheapest->first;
    decision.delta = static_cast<std::int64_t>(
        std::ceil(decision.required / (cheapest->second.kv_capacity * thresholds.kv)));
  } else if (decision.spare > 0.0) {
    const auto dearest = std::ranges::max_element(variants, {}, cost);
    decision.variant = dearest->first;
    decision.delta = -static_cast<std::int64_t>(
        std::floor(decision.spare / (dearest->second.kv_capacity * thresholds.kv)));
  }
  return decision;
}

std::optional<std::int64_t> planned_replicas(const std::vector<double>& loads,
                                             std::int64_t replicas,
                                             std::int64_t fewest,
                                             const PlannerBounds& bounds) {
  const bool above = std::ranges::any_of(loads, [&](double load) {
    return load > bounds.up || (bounds.up_included && load == bounds.up);
  });
  if (above) {
    return std::max(replicas + 1, fewest);
  }
  const bool below = !loads.empty() && std::ranges::all_of(loads, [&](double load) {
    return load < bounds.down || (bounds.down_included && load == bounds.down);
  });
  if (below && replicas > fewest) {
    return std::max(replicas - 1, fewest);
  }
  return std::nullopt;
}

}  // namespace ridgeline::scaling
