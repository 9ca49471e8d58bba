#pragma once

#include "scenario/resolution.hpp"

namespace ridgeline::scenario {

/// Cuts the network over GPUs: tensor, pipeline, data, context and expert parallelism and the
/// drafting network. Checks that each cut divides the network, that the step-time model knows it,
/// and warns of what no model prices.
void resolve_parallelism(Resolution& work);

}  // namespace ridgeline::scenario
