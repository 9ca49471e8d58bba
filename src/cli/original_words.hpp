#pragma once

#include <vector>

#include "cli/arguments.hpp"
#include "core/result.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::cli {

/// The flags of the original simulator that mean something else than one setting: --roofline,
/// --roofline-version, --workload and --model-config-folder.
[[nodiscard]] std::vector<FlagSpec> original_flags();

/// What they mean as settings. A workload's name sets what the command line leaves open; everything
/// else beside the setting that it stands for is an error.
[[nodiscard]] core::Result<std::vector<scenario::Override>> original_overrides(
    const Arguments& arguments);

}  // namespace ridgeline::cli
