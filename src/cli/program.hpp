#pragma once

#include <span>
#include <string>

#include "cli/exit_code.hpp"

namespace ridgeline::cli {

/// What every program of this project does around its verbs: signals, faults, the allocator.
/// Returns what the process ends with. For main(), once.
[[nodiscard]] int run_program(int argc,
                              char** argv,
                              ExitCode (*run)(std::span<const std::string> words));

}  // namespace ridgeline::cli
