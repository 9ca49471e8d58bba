#pragma once

#include <span>
#include <string>

#include "cli/exit_code.hpp"

namespace ridgeline::cli {

/// The whole program, but for the process around it: `words` are the arguments without the
/// program's name.
[[nodiscard]] ExitCode run_command_line(std::span<const std::string> words);

}  // namespace ridgeline::cli
