#pragma once

#include <memory>

#include "cluster/gateway.hpp"
#include "domain/tenants.hpp"
#include "routing/predictor.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::sim {

/// What the scenario's routing policy predicts latencies with; null where it predicts none.
/// `resolved` outlives it.
[[nodiscard]] std::shared_ptr<const routing::LatencyPredictor> predictor_of(
    const scenario::Resolved& resolved);

/// The targets of requests: their tenant's, and the run's where it has none. `tenants` outlives it.
[[nodiscard]] cluster::Gateway::TargetsOf targets_of(const scenario::Resolved& resolved,
                                                     domain::Tenants& tenants);

}  // namespace ridgeline::sim
