#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cluster/admission_part.hpp"
#include "cluster/cluster.hpp"
#include "cluster/decision.hpp"
#include "cluster/disaggregation.hpp"
#include "cluster/part.hpp"
#include "engine/instance.hpp"
#include "metrics/summary.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::sim {

/// The parts of a cluster that results ask; null where the scenario has none of the kind. The
/// cluster owns them.
struct FleetParts {
  const cluster::AdmissionPart* admission = nullptr;
  const cluster::Disaggregation* disaggregation = nullptr;
};

/// How a cluster runs, as far as it changes no record; each as in cluster::ClusterInputs.
struct FleetControls {
  bool eager = false;
  std::int64_t threads = 1;
  bool audit = false;  ///< Every decision is made again on views of age 0.
  cluster::DecisionSink* decisions = nullptr;
};

/// The cluster of a scenario that has one (scenario::ClusterSection), of instances like this one.
/// `parts` as in cluster::ClusterInputs.
[[nodiscard]] std::unique_ptr<cluster::Cluster> make_cluster(const scenario::Resolved& resolved,
                                                             const engine::InstanceInputs& instance,
                                                             const FleetControls& controls,
                                                             std::vector<cluster::PartMaker> parts);

/// Adds to the summary's fleet, which there must be, what the requests do not say: the gateway's
/// part and the engines'.
void fill_fleet(const scenario::Resolved& resolved,
                const cluster::Cluster& cluster,
                const FleetParts& parts,
                metrics::Summary& summary);

}  // namespace ridgeline::sim
