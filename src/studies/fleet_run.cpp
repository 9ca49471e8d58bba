#include "studies/fleet_run.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "metrics/summary.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::studies {

std::vector<scenario::Override> settings_of(std::vector<scenario::Override> common,
                                            const std::vector<scenario::Override>& own) {
  common.insert(common.end(), own.begin(), own.end());
  return common;
}

core::Result<metrics::Summary> run_scenario(const std::vector<scenario::Override>& settings) {
  auto loaded = scenario::load_scenario(std::nullopt, settings, scenario::Purpose::kRun);
  if (!loaded) {
    return core::fail(std::move(loaded).error());
  }
  const auto resolved = scenario::resolve(std::move(*loaded));
  if (!resolved) {
    return core::fail(resolved.error());
  }
  const auto source = resolved->workload.open();
  if (!source) {
    return core::fail(source.error());
  }
  auto outcome = sim::simulate(*resolved, **source, {});
  if (!outcome) {
    return core::fail(std::move(outcome).error());
  }
  return std::move(outcome->summary);
}

}  // namespace ridgeline::studies
