#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cluster/admission_part.hpp"
#include "cluster/cluster.hpp"
#include "cluster/decision.hpp"
#include "cluster/disaggregation.hpp"
#include "cluster/kv_offload.hpp"
#include "cluster/part.hpp"
#include "cluster/pools.hpp"
#include "cluster/request_story.hpp"
#include "cluster/scaling/scaler.hpp"
#include "domain/request.hpp"
#include "domain/tenants.hpp"
#include "engine/instance.hpp"
#include "metrics/summary.hpp"
#include "routing/router.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::sim {

/// The parts of a cluster that results ask; null where the scenario has none of the kind. The
/// cluster owns them.
struct FleetParts {
  const cluster::AdmissionPart* admission = nullptr;
  const cluster::Disaggregation* disaggregation = nullptr;
  const cluster::KvOffload* offload = nullptr;
};

/// How a cluster runs, as far as it changes no record; each as in cluster::ClusterInputs.
struct FleetControls {
  bool eager = false;
  bool arrivals_are_known = false;
  std::int64_t threads = 1;
  bool audit = false;  ///< Every decision is made again on views of age 0.
  cluster::DecisionSink* decisions = nullptr;
  cluster::StorySink* stories = nullptr;
  /// Each as in HostParts.
  std::function<std::unique_ptr<routing::Router>()> make_router = {};
  std::function<std::unique_ptr<scaling::Scaler>(std::unique_ptr<scaling::Scaler>)> make_scaler =
      {};
};

/// What differs between the instances of a cluster, each as in cluster::ClusterInputs.
struct FleetInstances {
  std::vector<cluster::InstancePool> pools = {};
  cluster::PoolGroups groups = {};
  std::span<const std::vector<domain::Request>> warm_from = {};
};

/// The cluster of a scenario that has one (scenario::ClusterSection), of instances like this one
/// and as the scenario's pools say. `parts` as in cluster::ClusterInputs; `tenants` outlives it.
[[nodiscard]] std::unique_ptr<cluster::Cluster> make_cluster(const scenario::Resolved& resolved,
                                                             const engine::InstanceInputs& instance,
                                                             const FleetControls& controls,
                                                             std::vector<cluster::PartMaker> parts,
                                                             FleetInstances instances,
                                                             domain::Tenants& tenants);

/// Adds to the summary's fleet, which there must be, what the requests do not say: the gateway's
/// part and the engines'. Those are of all of a run, which took `seconds`, its warm-up too.
void fill_fleet(const scenario::Resolved& resolved,
                const cluster::Cluster& cluster,
                const FleetParts& parts,
                double seconds,
                metrics::Summary& summary);

}  // namespace ridgeline::sim
