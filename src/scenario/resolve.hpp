#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "scenario/deployment.hpp"
#include "scenario/pools.hpp"
#include "scenario/requests.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// A scenario made runnable: what serves, what is asked of it, and the settings of the run.
struct Resolved {
  /// Set by resolve(). Where there are pools, the first one's.
  std::shared_ptr<const Deployment> deployment;
  std::vector<ResolvedPool> pools;  ///< Where the scenario lists some.
  Workload workload;
  RunSettings run;
  std::vector<Provenance> provenance;  ///< One per option, in the table's order.
  core::Warnings warnings;             ///< About how the scenario was said, and its deployment.

  /// The scenario with what was derived: run again, it gives the same run.
  [[nodiscard]] Scenario scenario() const;
};

/// An option was set after resolving: what is written down of the scenario has it.
void mark_stated(Resolved& resolved, std::string_view path);

/// Fills the workload and resolves the deployment. Fails with the errors of resolve_deployment().
[[nodiscard]] core::Result<Resolved> resolve(LoadedScenario loaded);

}  // namespace ridgeline::scenario
