#pragma once

#include <memory>

#include "engine/engine.hpp"

namespace ridgeline::engine::vllm::fast {

/// vLLM's scheduler (engine/vllm/plain) as an engine of its own, whose jumps keep sums over all
/// decoding requests where the step loop keeps each request: behind StepScheduler it would lose
/// that. nullptr where it does not cover the options.
[[nodiscard]] std::unique_ptr<Engine> make_engine(const EngineInputs& inputs, bool jump);

}  // namespace ridgeline::engine::vllm::fast
