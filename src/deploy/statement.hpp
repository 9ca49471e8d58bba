#pragma once

#include <vector>

#include "deploy/flags.hpp"
#include "document/document.hpp"
#include "scenario/pools.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::deploy {

/// Whether a value is its author's: of a file or a flag.
[[nodiscard]] bool is_stated(const scenario::Provenance& provenance);

/// The options of the section `engine`, but for its version, with their values in one deployment:
/// that of `pool`, or where there is none the scenario's own.
[[nodiscard]] std::vector<OptionValue> engine_values(const scenario::Resolved& resolved,
                                                     const scenario::Deployment& deployment,
                                                     const scenario::ResolvedPool* pool);

/// What a scenario states and no flag of its deployment says: GPU, workload, targets, the gateway's
/// delays, the engine's version.
[[nodiscard]] document::Node assumed_part(const scenario::Resolved& resolved);

/// The scenario with every flag of its deployment made explicit: what reading the deployment's
/// files gives, and what scenario.yaml holds.
[[nodiscard]] document::Node stated_scenario(const scenario::Resolved& resolved);

}  // namespace ridgeline::deploy
