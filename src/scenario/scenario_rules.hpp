#pragma once

#include <string>

#include "core/result.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// What must hold between the options of a scenario, each of which is sound by itself: nothing
/// needed is missing and nothing given would be ignored. Where a flag and the file give one thing
/// in two ways, the flag's way wins and the file's is unset.
void check_rules(LoadedScenario& loaded, Purpose purpose, core::Errors& errors);

/// Why no state of prefix caches (`cache_state`) can be read by such a run, nor written for one;
/// empty where it can.
[[nodiscard]] std::string why_no_cache_state(const Scenario& scenario);

/// Whether the network, the GPU and the engine version that are named exist. resolve() finds that
/// out too, but a scenario with other errors is not resolved.
void check_names(const LoadedScenario& loaded, core::Errors& errors);

}  // namespace ridgeline::scenario
