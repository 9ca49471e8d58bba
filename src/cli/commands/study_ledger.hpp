#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "studies/measured_arms.hpp"

namespace ridgeline::cli {

/// The documents that `study run` shows claim by claim: "000", "003", ...
[[nodiscard]] std::vector<std::string> ledger_documents();

/// `study`, which predicts no arm again that `predictions` knows.
[[nodiscard]] ExitCode study_command(Words words, studies::ArmPredictions& predictions);

/// `study all` and `study run DOCUMENT...`: settles every claim of the documents named (none: all)
/// and shows them. Exit code 1, with each named, where a status is not the expected one.
[[nodiscard]] ExitCode show_ledger(const std::vector<std::string>& documents,
                                   const Arguments& arguments,
                                   const Manners& manners,
                                   studies::ArmPredictions& predictions);

}  // namespace ridgeline::cli
