#pragma once

#include <string_view>

#include "core/result.hpp"
#include "engine/engine_plan.hpp"
#include "engine/options.hpp"
#include "engine/tensorrt_llm/settings.hpp"

namespace ridgeline::engine::tensorrt_llm {

/// What EngineOptions::own points to.
struct OwnOptions final : EngineSettings {
  Settings settings;
};

/// The one setting of its that vLLM has under the same name: off unless stated.
inline constexpr std::string_view kChunkedPrefill = "enable_chunked_prefill";

/// trtllm-serve's settings, versions and defaults.
extern const OwnSettings kSettings;

/// Fills every default as trtllm-serve does when it starts.
[[nodiscard]] core::Result<EnginePlan> plan(const PlanInputs& inputs);

}  // namespace ridgeline::engine::tensorrt_llm
