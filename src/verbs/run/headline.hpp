#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "sim/simulation.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {

/// "llama-3.1-70b on 4x h100 (TP4)".
[[nodiscard]] std::string deployment_text(const scenario::Deployment& deployment);
/// The whole deployment where `outcome` is of one of several data-parallel ranks.
[[nodiscard]] std::optional<Deployment> deployment_of(const scenario::Resolved& resolved,
                                                      const sim::RunOutcome& outcome);
/// The deployment, "8 req/s (Poisson)", "1 000 requests", "seed 1"; and of several data-parallel
/// ranks what the simulated one gets.
[[nodiscard]] std::vector<std::string> headline(const scenario::Resolved& resolved,
                                                const sim::RunOutcome& outcome);
/// One line per setting that is not the default: where it came from; and the kernel tables read.
[[nodiscard]] std::string provenance_text(const scenario::Resolved& resolved);
/// "scenario.yaml:3:9"; nothing for the command line.
[[nodiscard]] std::string place_text(const core::Location& where);

}  // namespace ridgeline::verbs
