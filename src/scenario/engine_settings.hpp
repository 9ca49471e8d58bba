#pragma once

#include <optional>
#include <span>
#include <string>

#include "engine/engine_plan.hpp"
#include "engine/schedulers.hpp"
#include "scenario/findings.hpp"
#include "scenario/options.hpp"
#include "scenario/resolution.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// An option for each setting of the engines of the registry that have settings of their own; one
/// that several engines have is one option.
[[nodiscard]] std::span<const Option> engine_setting_options();

/// Whether an option means something beside the engine that the section names: false for settings
/// of another engine. Options outside the section `engine` always do.
[[nodiscard]] bool applies(const Option& option, const EngineSection& engine);
/// For many options of one section, whose version is then read once.
[[nodiscard]] bool applies(const Option& option, const engine::SchedulerEntry& chosen);
/// The engine that a version names; vLLM where it names none.
[[nodiscard]] const engine::SchedulerEntry& entry_of(const EngineSection& section);

/// Whether a setting has the value that its engine's table gives it.
[[nodiscard]] bool is_standard(const Option& option, const Scenario& scenario);

/// A version as `engine.version` may be written: `vllm` alone is the default version, `latest` that
/// of a fixed date, `trtllm` is tensorrt-llm. Whether there is such a version is for
/// engine::find_engine() to say.
[[nodiscard]] std::string named_version(std::string_view written);

/// Whether the engine keeps the KV of prompts for others that begin alike, by its own setting.
[[nodiscard]] bool caches_prefixes(const EngineSection& engine);

/// The engine's own key for the purpose of one of vLLM's; that one where it has none.
[[nodiscard]] std::string own_key(const EngineSection& engine, std::string_view vllm);

/// Refuses what is stated of another engine, with the chosen engine's own word for it.
void check_engine_settings(Findings& findings);

/// Whether the deployment's engine has settings of its own.
[[nodiscard]] bool has_own_settings(const EngineSection& engine);
/// The data-parallel ranks that the section asks for, and the GPUs of each, by its engine's way of
/// counting them. Sizes that do not divide count as one rank: check_engine_settings() refuses them.
[[nodiscard]] engine::AttentionRanks attention_ranks(const EngineSection& engine);
/// The policy by which they get requests, unless one is named.
[[nodiscard]] std::optional<std::string> rank_router(const EngineSection& engine);
/// How the engine drafts, where it has a word of its own for that (engine::OwnSettings::drafts): by
/// its own settings, or by speculative_config.
[[nodiscard]] core::Result<std::optional<engine::DraftSettings>> own_drafts(
    const EngineSection& engine, const model::ModelSpec& network);
/// For such an engine: divides the memory and fills every setting.
void resolve_engine_settings(Resolution& work);

}  // namespace ridgeline::scenario
