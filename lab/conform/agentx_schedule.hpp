#pragma once

#include <optional>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/conform/agentx.hpp"
#include "lab/conform/conform.hpp"

namespace ridgeline::conform {

/// Holds conversations, lanes, phases, requests and totals of a schedule against ours.
[[nodiscard]] std::optional<Difference> compare_schedule(const document::Node& expected,
                                                         const AgentxInput& input,
                                                         core::Errors& errors);

}  // namespace ridgeline::conform
