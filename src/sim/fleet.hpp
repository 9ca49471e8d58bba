#pragma once

#include <cstdint>
#include <memory>

#include "cluster/cluster.hpp"
#include "engine/instance.hpp"
#include "metrics/summary.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::sim {

/// The cluster of a scenario that has one (scenario::ClusterSection), of instances like this one.
/// `eager` and `threads` as in cluster::ClusterInputs.
[[nodiscard]] std::unique_ptr<cluster::Cluster> make_cluster(const scenario::Resolved& resolved,
                                                             const engine::InstanceInputs& instance,
                                                             bool eager,
                                                             std::int64_t threads);

/// Adds to the summary's fleet, which there must be, what the requests do not say: the gateway's
/// part and the engines'.
void fill_fleet(const scenario::Resolved& resolved,
                const cluster::Cluster& cluster,
                metrics::Summary& summary);

}  // namespace ridgeline::sim
