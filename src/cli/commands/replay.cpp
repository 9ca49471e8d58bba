#include "cli/commands/simulate.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/exit_code.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::cli {

ExitCode replay_command(Words words) {
  return simulate_command({.usage = "replay [scenario.yaml] --trace FILE [flags]",
                           .about = "Simulates the requests of a recorded trace on one engine.",
                           .purpose = scenario::Purpose::kReplay},
                          words);
}

}  // namespace ridgeline::cli
