#pragma once

#include <cstdint>

#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "scenario/resolution.hpp"

namespace ridgeline::scenario {

/// Cuts the network over GPUs: tensor, pipeline, data, context and expert parallelism and the
/// drafting network. Checks that each cut divides the network, that the step-time model knows it,
/// and warns of what no model prices.
void resolve_parallelism(Resolution& work);

/// How many data-parallel ranks step together: those whose experts are cut over all of them.
[[nodiscard]] std::int64_t ranks_in_lock_step(const model::ModelSpec& network,
                                              const model::Sharding& sharding);

}  // namespace ridgeline::scenario
