#pragma once

#include "core/result.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// What must hold between the options of a scenario, each of which is sound by itself: nothing
/// needed is missing and nothing given would be ignored. Where a flag and the file give one thing
/// in two ways, the flag's way wins and the file's is unset.
void check_rules(LoadedScenario& loaded, Purpose purpose, core::Errors& errors);

/// Whether there is a network, a GPU and an engine version of the names that are given: what
/// resolve() finds out too, for a scenario that does not get there.
void check_names(const LoadedScenario& loaded, core::Errors& errors);

}  // namespace ridgeline::scenario
