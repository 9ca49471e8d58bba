#pragma once

#include "core/result.hpp"
#include "domain/step.hpp"
#include "scenario/deployment.hpp"

namespace ridgeline::scenario {

/// A warning for each limit of the engine that a step stated by hand exceeds, so that no engine
/// would form it: sequences, tokens, the length of one sequence and KV blocks. `batch` has its
/// decode_lengths.
[[nodiscard]] core::Warnings beyond_limits(const Deployment& deployment,
                                           const domain::StepBatch& batch);

}  // namespace ridgeline::scenario
