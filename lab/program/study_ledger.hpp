#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "lab/program/laboratory.hpp"
#include "lab/studies/measured_arms.hpp"

namespace ridgeline::laboratory {

/// The documents that `study run` shows claim by claim: "000", "003", ...
[[nodiscard]] std::vector<std::string> ledger_documents();

/// `study all` and `study run DOCUMENT...`: settles every claim of the documents named (none: all)
/// and shows them. Exit code 1, with each named, where a status is not the expected one.
[[nodiscard]] ExitCode show_ledger(const std::vector<std::string>& documents,
                                   const Arguments& arguments,
                                   const Manners& manners,
                                   studies::ArmPredictions& predictions);

}  // namespace ridgeline::laboratory
