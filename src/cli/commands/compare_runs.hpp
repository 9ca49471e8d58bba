#pragma once

#include "cli/arguments.hpp"
#include "cli/commands/simulate.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"

namespace ridgeline::cli {

/// `run --compare A,B,...`: the same requests by each of several step-time models, side by side.
[[nodiscard]] ExitCode compare_runs(const SimulationVerb& verb,
                                    const Arguments& arguments,
                                    const Manners& manners);

}  // namespace ridgeline::cli
