#include "cli/commands/simulate.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/exit_code.hpp"

namespace ridgeline::cli {

ExitCode run_command(Words words) {
  return simulate_command({.usage = "run [scenario.yaml] [flags]",
                           .about = "Simulates a scenario: requests made up from a rate and "
                                    "lengths, or from a trace, on one engine."},
                          words);
}

}  // namespace ridgeline::cli
