#pragma once

#include <string_view>

#include "core/result.hpp"
#include "engine/engine_plan.hpp"
#include "engine/sglang/options.hpp"

namespace ridgeline::engine::sglang {

/// SGLang's settings, versions and defaults.
extern const OwnSettings kSettings;

/// The rules of a version: "0.5.5" or "main".
[[nodiscard]] Rules rules_of(std::string_view version);

/// Words of the settings as options.
[[nodiscard]] SchedulePolicy schedule_policy_of(std::string_view word);
[[nodiscard]] EvictionPolicy eviction_policy_of(std::string_view word);

/// Fills every default as SGLang's server does when it starts.
[[nodiscard]] core::Result<EnginePlan> plan(const PlanInputs& inputs);

}  // namespace ridgeline::engine::sglang
