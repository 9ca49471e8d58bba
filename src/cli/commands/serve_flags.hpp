#pragma once

#include <vector>

#include "cli/arguments.hpp"
#include "core/result.hpp"

namespace ridgeline::cli {

/// The flags of `serve` beside those of a scenario: vLLM's own names where it has them.
[[nodiscard]] std::vector<FlagSpec> serve_flags();
/// All flags of `serve`: those of a scenario but for its workload, with serve_flags() in place of
/// those of the same name that elsewhere mean nothing.
[[nodiscard]] std::vector<FlagSpec> all_serve_flags();

/// Adds what the section `serve` of the scenario file says, where the command line does not.
[[nodiscard]] core::Result<void> add_serve_section(Arguments& arguments);

}  // namespace ridgeline::cli
