#pragma once

#include <optional>

#include "core/result.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {

/// `validate` of step logs: each step priced by the scenario's model, or by each that is compared,
/// and scored by phase, batch and context. Nothing where the files are none.
[[nodiscard]] std::optional<core::Result<Reply>> scored_steps(Request& request);

}  // namespace ridgeline::verbs
