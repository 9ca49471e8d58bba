#pragma once

#include "cli/arguments.hpp"
#include "core/result.hpp"

namespace ridgeline::cli {

/// Copies the pipes among a verb's input files (`-`, `<(...)`, FIFOs) to temporary files that end
/// with the process: a trace is read twice, which a pipe does not allow. Input files are the
/// positionals and --trace.
[[nodiscard]] core::Result<void> copy_pipes(const Arguments& arguments);

}  // namespace ridgeline::cli
