#pragma once

#include <span>

#include "engine/engine_plan.hpp"

namespace ridgeline::engine::tensorrt_llm {

/// OwnSettings::refused_flags and OwnSettings::flags_without_effect of TensorRT-LLM's server.
[[nodiscard]] std::span<const ServerFlags> refused_flags();
[[nodiscard]] std::span<const ServerFlags> flags_without_effect();

}  // namespace ridgeline::engine::tensorrt_llm
