#pragma once

#include "core/result.hpp"
#include "engine/capacity.hpp"
#include "scenario/resolution.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// Divides each GPU's memory and finds how many KV blocks there are; a network that leaves no room
/// for a request is infeasible.
void resolve_memory(Resolution& work);

/// Says that prefixes which prompts share are computed anew with such a network.
[[nodiscard]] core::Warning prefix_caching_off();

/// What a step and a request may hold, in this much memory: max_model_len, max_num_batched_tokens,
/// max_num_seqs, and the scheduler's other settings.
void resolve_limits(Resolution& work);

/// Whether performance_mode asks for a CUDA graph of every small size.
[[nodiscard]] bool captures_every_small_size(const EngineSection& engine);

}  // namespace ridgeline::scenario
