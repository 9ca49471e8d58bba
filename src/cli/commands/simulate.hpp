#pragma once

#include <string_view>

#include "cli/commands/verbs.hpp"
#include "cli/exit_code.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::cli {

/// What `run` and `replay` share: all but their help, and what they need.
struct SimulationVerb {
  std::string_view usage;
  std::string_view about;
  scenario::Purpose purpose = scenario::Purpose::kRun;
};
[[nodiscard]] ExitCode simulate_command(const SimulationVerb& verb, Words words);

}  // namespace ridgeline::cli
