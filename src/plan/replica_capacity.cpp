#include "plan/replica_capacity.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/math.hpp"
#include "core/result.hpp"
#include "metrics/slo.hpp"
#include "plan/capacity.hpp"
#include "plan/evaluation_store.hpp"
#include "plan/race.hpp"
#include "plan/space.hpp"
#include "plan/target.hpp"

namespace ridgeline::plan {
namespace {

/// Share of the most that a replica may carry: above it more replicas help by what each serves, not
/// by keeping prompts apart.
constexpr double kFarFromFull = 0.5;
/// With eight replicas two prompts seldom meet, and a run of 2,000 requests is long enough.
constexpr std::int64_t kMostTogether = 8;

}  // namespace

std::int64_t replicas_together(const ReplicaRules& rules,
                               const Capacity& alone,
                               const Targets& targets,
                               double highest) {
  if (alone.load >= kFarFromFull * highest ||
      targets[alone.target].metric() == metrics::Metric::kTpot) {
    return 1;
  }
  const std::int64_t serving = rules.fewest(alone.load).value_or(rules.most) - rules.spare;
  return std::clamp<std::int64_t>(serving, 1, kMostTogether);
}

core::Result<std::optional<Capacity>> find_replica_capacity(EvaluationStore* store,
                                                            const Space& space,
                                                            const SpacePoint& point,
                                                            std::int64_t replicas,
                                                            const Targets& targets,
                                                            CapacityOptions options,
                                                            const std::atomic<bool>& interrupt) {
  const auto deployment = space.resolve(point, replicas);
  if (!deployment) {
    return core::fail(deployment.error());
  }
  const double share = core::real(replicas);
  options.guess *= share;
  options.ceiling *= share;
  options.warm_up = std::min(options.warm_up * replicas, options.requests / 4);
  auto found = find_stored_capacity(
      store, deployment->id, deployment->resolved, targets, options, interrupt);
  if (found && *found) {
    Capacity& capacity = **found;
    capacity.replicas = replicas;
    capacity.load /= share;
    capacity.requests_per_second /= share;
    for (Evaluation& evaluation : capacity.evaluations) {
      evaluation.load /= share;
    }
  }
  return found;
}

}  // namespace ridgeline::plan
