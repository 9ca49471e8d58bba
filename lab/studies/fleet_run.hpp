#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/summary.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"
#include "workload/source.hpp"

namespace ridgeline::studies {

/// The settings of `common`, and then those of `own`.
[[nodiscard]] std::vector<scenario::Override> settings_of(
    std::vector<scenario::Override> common, const std::vector<scenario::Override>& own);

/// Runs the scenario of these settings; the errors of its loading, resolution or run otherwise.
[[nodiscard]] core::Result<sim::RunOutcome> simulate_scenario(
    const std::vector<scenario::Override>& settings);
/// Simulates requests that the settings do not name. `listener` gets each; nullptr: none does.
[[nodiscard]] core::Result<sim::RunOutcome> simulate_scenario(
    const std::vector<scenario::Override>& settings,
    workload::Source& source,
    metrics::Listener* listener);

/// The numbers of simulate_scenario().
[[nodiscard]] core::Result<metrics::Summary> run_scenario(
    const std::vector<scenario::Override>& settings);

/// The highest of the ascending rates that is sustained with all below it: so large a share of the
/// requests meets the targets that the settings state. 0 where none is.
[[nodiscard]] core::Result<double> highest_sustained(
    std::span<const double> rates,
    double share,
    const std::function<std::vector<scenario::Override>(double rate)>& settings_at);

}  // namespace ridgeline::studies
