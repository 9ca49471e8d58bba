#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "cluster/cluster.hpp"
#include "cluster/scaling/scaler.hpp"
#include "metrics/summary.hpp"
#include "routing/router.hpp"
#include "scenario/resolve.hpp"
#include "scenario/sections/cluster.hpp"

namespace ridgeline::sim {

/// Whether a cluster's instances may come, fail or go.
[[nodiscard]] bool has_operations(const scenario::ClusterSection& section);

/// Places for instances in a scenario's cluster: as many as there may be at once.
[[nodiscard]] std::int64_t num_places(const scenario::Resolved& resolved);

/// Places for prefill instances.
[[nodiscard]] std::int64_t num_prefill_places(const scenario::Resolved& resolved);

/// Adds to a cluster what makes its instances come, fail and go, where the scenario says so.
/// `new_routers` makes the gateways' policies anew; `make_scaler`, if any, what stands in for each
/// autoscaler.
void add_operations(
    const scenario::Resolved& resolved,
    std::function<cluster::Gateway::Routers()> new_routers,
    const std::function<std::unique_ptr<scaling::Scaler>(std::unique_ptr<scaling::Scaler>)>&
        make_scaler,
    cluster::ClusterInputs& inputs);

/// How long the instances from `first` on, before `last`, existed until the end, in seconds:
/// together that may be longer than simulated time can be.
[[nodiscard]] double seconds_existed(const cluster::Cluster& cluster,
                                     std::size_t first,
                                     std::size_t last);

/// Adds to the summary's fleet, which there must be, what these parts did.
void fill_operations(const scenario::Resolved& resolved,
                     const cluster::Cluster& cluster,
                     metrics::Summary& summary);

}  // namespace ridgeline::sim
