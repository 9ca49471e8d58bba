#include "lab/studies/fleet_run.hpp"

#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/summary.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"
#include "workload/source.hpp"

namespace ridgeline::studies {
namespace {

core::Result<scenario::Resolved> resolved_scenario(const std::vector<scenario::Override>& settings,
                                                   scenario::Purpose purpose) {
  auto loaded = scenario::load_scenario(std::nullopt, settings, purpose);
  if (!loaded) {
    return core::fail(std::move(loaded).error());
  }
  return scenario::resolve(std::move(*loaded));
}

}  // namespace

std::vector<scenario::Override> settings_of(std::vector<scenario::Override> common,
                                            const std::vector<scenario::Override>& own) {
  common.insert(common.end(), own.begin(), own.end());
  return common;
}

core::Result<sim::RunOutcome> simulate_scenario(const std::vector<scenario::Override>& settings) {
  const auto resolved = resolved_scenario(settings, scenario::Purpose::kRun);
  if (!resolved) {
    return core::fail(resolved.error());
  }
  const auto source = resolved->workload.open();
  if (!source) {
    return core::fail(source.error());
  }
  return sim::simulate(*resolved, **source, {});
}

core::Result<sim::RunOutcome> simulate_scenario(const std::vector<scenario::Override>& settings,
                                                workload::Source& source,
                                                metrics::Listener* listener) {
  const auto resolved = resolved_scenario(settings, scenario::Purpose::kLook);
  if (!resolved) {
    return core::fail(resolved.error());
  }
  sim::RunControls controls;
  controls.listener = listener;
  return sim::simulate(*resolved, source, controls);
}

core::Result<metrics::Summary> run_scenario(const std::vector<scenario::Override>& settings) {
  auto outcome = simulate_scenario(settings);
  if (!outcome) {
    return core::fail(std::move(outcome).error());
  }
  return std::move(outcome->summary);
}

core::Result<double> highest_sustained(
    std::span<const double> rates,
    double share,
    const std::function<std::vector<scenario::Override>(double rate)>& settings_at) {
  double best = 0.0;
  for (const double rate : rates) {
    const auto summary = run_scenario(settings_at(rate));
    if (!summary) {
      return core::fail(summary.error());
    }
    if (summary->good_share.value_or(0.0) < share) {
      break;
    }
    best = rate;
  }
  return best;
}

}  // namespace ridgeline::studies
