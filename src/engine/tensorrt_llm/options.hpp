#pragma once

#include <cstdint>
#include <string_view>

#include "core/result.hpp"
#include "document/parameter.hpp"
#include "engine/engine_plan.hpp"
#include "engine/options.hpp"
#include "engine/tensorrt_llm/settings.hpp"

namespace ridgeline::engine::tensorrt_llm {

/// What EngineOptions::own points to.
struct OwnOptions final : EngineSettings {
  Settings settings;
};

/// The settings that EngineOptions::own points to; the defaults without.
[[nodiscard]] Settings settings_of(const EngineOptions& options);

/// The one setting of its that vLLM has under the same name: off unless stated.
inline constexpr std::string_view kChunkedPrefill = "enable_chunked_prefill";

/// trtllm-serve's settings, versions and defaults.
extern const OwnSettings kSettings;

/// Fills every default as trtllm-serve does when it starts.
[[nodiscard]] core::Result<EnginePlan> plan(const PlanInputs& inputs);

/// As OwnSettings: with enable_attention_dp every GPU is a rank.
[[nodiscard]] core::Result<AttentionRanks> attention_ranks(
    const document::ParameterValues& settings,
    std::int64_t tensor_parallel_size,
    std::int64_t data_parallel_size);
[[nodiscard]] std::string_view rank_router(const document::ParameterValues& settings);

}  // namespace ridgeline::engine::tensorrt_llm
