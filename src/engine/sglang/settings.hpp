#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/result.hpp"
#include "document/parameter.hpp"
#include "engine/engine_plan.hpp"
#include "engine/sglang/options.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::engine::sglang {

/// SGLang's settings, versions and defaults.
extern const OwnSettings kSettings;

/// The rules of a version: "0.5.5", "main", "0.5.23".
[[nodiscard]] Rules rules_of(std::string_view version);

/// Words of the settings as options.
[[nodiscard]] SchedulePolicy schedule_policy_of(std::string_view word);
[[nodiscard]] EvictionPolicy eviction_policy_of(std::string_view word);

/// As OwnSettings: with enable_dp_attention data_parallel_size ranks share all GPUs.
[[nodiscard]] core::Result<AttentionRanks> attention_ranks(
    const document::ParameterValues& settings,
    std::int64_t tensor_parallel_size,
    std::int64_t data_parallel_size);
[[nodiscard]] std::string_view rank_router(const document::ParameterValues& settings);

/// As OwnSettings: SGLang's speculative_algorithm and what belongs to it.
[[nodiscard]] core::Result<std::optional<DraftSettings>> drafts(
    const document::ParameterValues& settings, const model::ModelSpec& network);

/// Fills every default as SGLang's server does when it starts.
[[nodiscard]] core::Result<EnginePlan> plan(const PlanInputs& inputs);

}  // namespace ridgeline::engine::sglang
