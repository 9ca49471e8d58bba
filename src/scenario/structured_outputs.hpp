#pragma once

#include "scenario/resolution.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// Whether some of the workload's requests have a structured output.
[[nodiscard]] bool has_structured_outputs(const WorkloadSection& workload);

/// What the grammars of structured outputs take of the engine's host, where the workload has some;
/// refused for engines and versions that do not simulate them. Needs the engine's limits.
void resolve_structured_outputs(Resolution& work);

}  // namespace ridgeline::scenario
