#pragma once

#include <memory>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/deployment.hpp"
#include "scenario/requests.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/pools.hpp"

namespace ridgeline::scenario {

/// Instances that are alike, made runnable.
struct ResolvedPool {
  PoolSection section;                           ///< With the names of its models.
  std::shared_ptr<const Deployment> deployment;  ///< Deployment of each instance.
};

/// Resolves the deployment of each pool. An error says which pool it is about. With prefill and
/// decode apart all pools have to serve the same: the KV of one is read by another.
[[nodiscard]] core::Result<std::vector<ResolvedPool>> resolve_pools(
    const RunSettings& run,
    const DeploymentSection& deployment,
    const std::vector<Provenance>& provenance,
    const Workload& workload);

/// What a scenario of these pools states for all of them: the first one's, without what some pool
/// leaves out, which it could not unset.
[[nodiscard]] DeploymentSection common_section(const std::vector<ResolvedPool>& pools);

/// The pools as a scenario states them, with what was derived where that is not the common
/// section's.
[[nodiscard]] document::Node pools_node(const std::vector<ResolvedPool>& pools);

/// The pools as launches state them: the engine's keys in a map `engine`, over a common section
/// that is the last pool's (decode, where it is apart), and servers counted in place of their
/// data-parallel ranks. Read back it is the same pools.
struct Servers {
  DeploymentSection common;
  document::Node pools;
};
[[nodiscard]] Servers as_servers(std::vector<ResolvedPool> pools);

}  // namespace ridgeline::scenario
