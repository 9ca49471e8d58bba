#pragma once

#include <string_view>

#include "cli/commands/verbs.hpp"
#include "cli/exit_code.hpp"

namespace ridgeline::cli {

/// What `run` and `replay` share: all but their help, and that a replay needs a trace.
struct SimulationVerb {
  std::string_view usage;
  std::string_view about;
  bool needs_trace = false;
};
[[nodiscard]] ExitCode simulate_command(const SimulationVerb& verb, Words words);

}  // namespace ridgeline::cli
