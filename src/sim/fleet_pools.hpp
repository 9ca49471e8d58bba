#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "cluster/cluster.hpp"
#include "cluster/pools.hpp"
#include "core/result.hpp"
#include "engine/options.hpp"
#include "latency/step_time_model.hpp"
#include "metrics/summary.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "scenario/sections/pools.hpp"
#include "sim/logged_model.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {

/// What the instances of a scenario's pools are made of. Empty where it lists none.
class PoolEngines {
 public:
  /// `options_of` gives the engine options of a deployment in this run. `resolved` outlives it.
  PoolEngines(const scenario::Resolved& resolved,
              const std::function<engine::EngineOptions(const scenario::Deployment&)>& options_of);

  /// As cluster::ClusterInputs has them; they refer to this.
  [[nodiscard]] std::vector<cluster::InstancePool> pools() const;
  /// Whether a step-time model keeps a log, which is for one thread.
  [[nodiscard]] bool any_logs() const;
  /// What the models' logs say.
  [[nodiscard]] core::Warnings findings() const;

 private:
  struct One {
    const scenario::ResolvedPool& pool;
    std::int64_t places;
    double spread;
    engine::EngineOptions options;
    LoggedModel logged;
  };
  std::deque<One> engines_;  ///< By pool.
};

/// Which pools a workload's requests may go to, by the names of their models and adapters: those
/// that list them. A request without a model's name is of the first pool's. Both outlive it.
[[nodiscard]] cluster::PoolGroups pool_groups(const scenario::Resolved& resolved,
                                              const workload::Source& source);

/// Places for instances of a pool: as many as there may be at once.
[[nodiscard]] std::int64_t places_of_pool(const scenario::Resolved& resolved,
                                          const scenario::PoolSection& pool);

/// The pool of each instance; empty where the scenario lists none.
[[nodiscard]] std::vector<std::size_t> pools_of_instances(const scenario::Resolved& resolved);

/// Adds to the pools of a summary's fleet what the requests do not say; its instances are full.
/// `seconds` as fill_fleet().
void fill_pools(const scenario::Resolved& resolved,
                const cluster::Cluster& cluster,
                double seconds,
                metrics::Summary& summary);

}  // namespace ridgeline::sim
