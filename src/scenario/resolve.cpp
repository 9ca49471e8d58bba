#include "scenario/resolve.hpp"

#include <iterator>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "scenario/deployment.hpp"
#include "scenario/options.hpp"
#include "scenario/requests.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

namespace {

/// What was not given and is set now, other than to a built-in default, was derived.
void trace_derived(const Scenario& scenario, std::vector<Provenance>& provenance) {
  const Scenario defaults;
  auto entry = provenance.begin();
  for (const Option& option : options()) {
    if (entry->origin == Provenance::Origin::kDefault && value_node(option, defaults).is_null() &&
        !value_node(option, scenario).is_null()) {
      entry->origin = Provenance::Origin::kDerived;
    }
    std::advance(entry, 1);
  }
}

}  // namespace

Scenario Resolved::scenario() const {
  return {.deployment = deployment->section, .workload = workload.section, .run = run};
}

core::Result<Resolved> resolve(LoadedScenario loaded) {
  Scenario& given = loaded.scenario;
  Resolved out;
  out.workload = {.section = std::move(given.workload),
                  .seed = given.run.seed,
                  .ranks = given.deployment.engine.data_parallel_size};
  fill_workload(out.workload.section);
  auto deployment =
      resolve_deployment(std::move(given.deployment), loaded.provenance, out.workload);
  if (!deployment) {
    return core::fail(std::move(deployment.error()));
  }
  out.deployment = std::move(*deployment);
  out.run = std::move(given.run);
  out.provenance = std::move(loaded.provenance);
  trace_derived(out.scenario(), out.provenance);
  out.warnings = std::move(loaded.warnings);
  out.warnings.insert(
      out.warnings.end(), out.deployment->warnings.begin(), out.deployment->warnings.end());
  return out;
}

}  // namespace ridgeline::scenario
