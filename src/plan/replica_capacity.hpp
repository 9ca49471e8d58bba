#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "core/result.hpp"
#include "plan/capacity.hpp"
#include "plan/evaluation_store.hpp"
#include "plan/race.hpp"
#include "plan/space.hpp"
#include "plan/target.hpp"

namespace ridgeline::plan {

/// Replicas that are run together to find what each of them carries: 1, or more where a target of
/// waiting requests (not TPOT) binds long before one alone is full, so that it is missed by prompts
/// that come at once. A gateway deals such prompts to different replicas. `alone` is the capacity
/// of a single replica within these targets, `highest` the most that it may be.
[[nodiscard]] std::int64_t replicas_together(const ReplicaRules& rules,
                                             const Capacity& alone,
                                             const Targets& targets,
                                             double highest);

/// find_stored_capacity() of `replicas` of a point behind their gateway, as that of one of them.
/// The options are those of one.
[[nodiscard]] core::Result<std::optional<Capacity>> find_replica_capacity(
    EvaluationStore* store,
    const Space& space,
    const SpacePoint& point,
    std::int64_t replicas,
    const Targets& targets,
    CapacityOptions options,
    const std::atomic<bool>& interrupt);

}  // namespace ridgeline::plan
