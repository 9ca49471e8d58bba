#pragma once

#include "cli/commands/verbs.hpp"
#include "cli/exit_code.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::cli {

/// `run` and `replay`, with the files that they write.
[[nodiscard]] ExitCode simulate_command(const verbs::Verb& verb, Words words);

}  // namespace ridgeline::cli
