#pragma once

#include <optional>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/conform/agentx.hpp"
#include "lab/conform/conform.hpp"

namespace ridgeline::conform {

/// Holds a run in real time against ours in simulated time, and its report and its row against what
/// we compute from its records.
[[nodiscard]] std::optional<Difference> compare_run(const document::Node& document,
                                                    const AgentxInput& input,
                                                    core::Errors& errors);

/// Holds a row of the scoreboard against the one that we compute from the same records.
[[nodiscard]] std::optional<Difference> compare_aggregate(const document::Node& document,
                                                          core::Errors& errors);

}  // namespace ridgeline::conform
