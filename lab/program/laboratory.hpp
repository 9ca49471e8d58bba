#pragma once

#include <span>
#include <string>

#include "cli/commands/verbs.hpp"
#include "cli/exit_code.hpp"
#include "lab/studies/measured_arms.hpp"

/// The program of the laboratory, `ridgeline-lab`.
namespace ridgeline::laboratory {

using namespace cli;

/// Runs the words of a command line: a verb of the laboratory, or any verb of `ridgeline`, which
/// then reads the laboratory's records too.
[[nodiscard]] ExitCode run_words(Words words);

// One file each.
[[nodiscard]] ExitCode study_command(Words words, studies::ArmPredictions& predictions);
[[nodiscard]] ExitCode conform_command(Words words);
[[nodiscard]] ExitCode records_command(Words words);

}  // namespace ridgeline::laboratory
