#include "scenario/engine_settings.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/parameter.hpp"
#include "document/reader.hpp"
#include "engine/engine_plan.hpp"
#include "engine/options.hpp"
#include "engine/schedulers.hpp"
#include "model/operators.hpp"
#include "scenario/named_options.hpp"
#include "scenario/options.hpp"
#include "scenario/resolution.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/router.hpp"

namespace ridgeline::scenario {
namespace {

constexpr std::string_view kVllm = "vllm";
/// Keys of the section `engine` that every engine has, whatever it calls them.
constexpr auto kShared = std::to_array<std::string_view>({"version",
                                                          "tensor_parallel_size",
                                                          "pipeline_parallel_size",
                                                          "data_parallel_size",
                                                          "prefill_context_parallel_size",
                                                          "enable_expert_parallel",
                                                          "all2all_backend",
                                                          "max_model_len",
                                                          "enforce_eager",
                                                          "moe_backend",
                                                          "use_deep_gemm",
                                                          "fuse_allreduce_rms",
                                                          "disable_custom_all_reduce",
                                                          "allreduce_use_symm_mem",
                                                          "float32_matmul_precision",
                                                          "stream_interval",
                                                          "dtype",
                                                          "quantization",
                                                          "kv_cache_dtype",
                                                          "generation_config",
                                                          "speculative_config"});

/// What an engine must give fleets, and some do not: KV that travels.
constexpr std::string_view kPrefillInstances = "cluster.disaggregation.prefill_instances";

std::span<const document::Parameter> settings_of(const engine::SchedulerEntry& entry) {
  return entry.own == nullptr ? std::span<const document::Parameter>() : entry.own->settings;
}

bool has_setting(const engine::SchedulerEntry& entry, std::string_view key) {
  return std::ranges::find(settings_of(entry), key, &document::Parameter::name) !=
         settings_of(entry).end();
}

/// The key of vLLM's that other engines may have under its own name, with another default.
constexpr std::string_view kChunkedPrefill = "enable_chunked_prefill";

/// Whether an engine has a key of vLLM's: its counterpart is the key itself.
bool has_too(const engine::SchedulerEntry& entry, std::string_view key) {
  return entry.own != nullptr &&
         std::ranges::any_of(entry.own->counterparts, [&](const engine::Counterpart& pair) {
           return pair.own == key && pair.vllm == key;
         });
}

NamedOptions make_setting_options() {
  std::vector<NamedTable> tables;
  for (const engine::SchedulerEntry& entry : engine::schedulers()) {
    tables.push_back({.name = entry.name, .parameters = settings_of(entry)});
  }
  return {"engine", tables, [](DeploymentSection& d, std::string_view key) -> Slot {
            return NamedSlot{.values = &d.engine.settings, .name = key};
          }};
}

/// vLLM's keys for the same purpose as a key of some engine, or that key of its own.
std::vector<std::string_view> purposes_of(std::string_view key) {
  std::vector<std::string_view> purposes = {key};
  for (const engine::SchedulerEntry& entry : engine::schedulers()) {
    if (entry.own == nullptr) {
      continue;
    }
    for (const engine::Counterpart& pair : entry.own->counterparts) {
      if (pair.own == key) {
        purposes.push_back(pair.vllm);
      }
    }
  }
  return purposes;
}

/// What the chosen engine calls that: by purpose, else by spelling; or nothing.
std::string own_word(const engine::SchedulerEntry& chosen, std::string_view key) {
  const std::vector<std::string_view> purposes = purposes_of(key);
  std::vector<std::string> keys;
  if (chosen.own == nullptr) {
    for (const Option& option : options()) {
      if (option.section() == "engine" && applies(option, chosen)) {
        keys.emplace_back(option.key());
      }
    }
    for (const std::string_view purpose : purposes) {
      if (purpose != key && std::ranges::find(keys, purpose) != keys.end()) {
        return std::string(purpose);
      }
    }
  } else {
    for (const engine::Counterpart& pair : chosen.own->counterparts) {
      if (std::ranges::find(purposes, pair.vllm) != purposes.end()) {
        return std::string(pair.own);
      }
    }
    for (const document::Parameter& setting : chosen.own->settings) {
      keys.emplace_back(setting.name);
    }
  }
  return document::nearest(key, keys).value_or("");
}

/// The engines that have a key: "sglang", "vllm".
std::string engines_with(std::string_view key) {
  std::vector<std::string_view> names;
  for (const engine::SchedulerEntry& entry : engine::schedulers()) {
    if (has_setting(entry, key)) {
      names.push_back(entry.name);
    }
  }
  return names.empty() ? std::string(kVllm) : fmt::format("{}", fmt::join(names, ", "));
}

/// What the scenario states of an engine's settings, a key of vLLM's that it has too among them.
std::vector<document::NamedValue> stated_settings(const engine::SchedulerEntry& entry,
                                                  const Resolution& work) {
  std::vector<document::NamedValue> stated = work.engine().settings;
  if (has_too(entry, kChunkedPrefill) && work.is_given(fmt::format("engine.{}", kChunkedPrefill))) {
    stated.push_back({.name = std::string(kChunkedPrefill),
                      .value = document::Node::boolean(work.engine().enable_chunked_prefill, {})});
  }
  return stated;
}

/// Every setting of an engine's table: as stated, as derived, or its default.
std::vector<document::NamedValue> filled_settings(
    const engine::OwnSettings& own,
    const std::vector<document::NamedValue>& stated,
    const std::vector<document::NamedValue>& derived) {
  std::vector<document::NamedValue> all;
  for (const document::Parameter& setting : own.settings) {
    const auto named = [&](const std::vector<document::NamedValue>& values) {
      return std::ranges::find(values, setting.name, &document::NamedValue::name);
    };
    if (const auto given = named(stated); given != stated.end()) {
      all.push_back(*given);
    } else if (const auto found = named(derived); found != derived.end()) {
      all.push_back(*found);
    } else if (document::Node value = setting.standard_node(); !value.is_null()) {
      all.push_back({.name = std::string(setting.name), .value = std::move(value)});
    }
  }
  return all;
}

document::ParameterValues own_values(const engine::SchedulerEntry& entry,
                                     const EngineSection& section) {
  return {entry.own->settings, section.settings};
}

core::Result<engine::AttentionRanks> ranks_asked_for(const EngineSection& section) {
  const engine::SchedulerEntry& chosen = entry_of(section);
  if (chosen.own == nullptr) {
    return engine::AttentionRanks{.ranks = section.data_parallel_size,
                                  .gpus_each = section.tensor_parallel_size};
  }
  return chosen.own->attention_ranks(
      own_values(chosen, section), section.tensor_parallel_size, section.data_parallel_size);
}

/// Other ways to write the name of an engine.
constexpr auto kEngineAliases = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"trtllm", "tensorrt-llm"},
    {"trt-llm", "tensorrt-llm"},
    {"tensorrt_llm", "tensorrt-llm"},
    {"tensorrtllm", "tensorrt-llm"},
});

/// What "latest" stands for: vLLM as of 1 November 2026, whatever is newer when this is read.
constexpr std::string_view kLatest = "vllm@0.33";

}  // namespace

std::string named_version(std::string_view written) {
  if (written == kVllm) {
    return EngineSection().version;
  }
  if (written == "latest" || written == "vllm@latest") {
    return std::string(kLatest);
  }
  const std::string_view name = written.substr(0, written.find('@'));
  const auto* const alias =
      std::ranges::find(kEngineAliases, name, &decltype(kEngineAliases)::value_type::first);
  return alias == kEngineAliases.end()
             ? std::string(written)
             : fmt::format("{}{}", alias->second, written.substr(name.size()));
}

bool caches_prefixes(const EngineSection& engine) {
  const engine::SchedulerEntry& chosen = entry_of(engine);
  if (chosen.own == nullptr) {
    return engine.enable_prefix_caching;
  }
  const auto pair = std::ranges::find(
      chosen.own->counterparts, "enable_prefix_caching", &engine::Counterpart::vllm);
  const bool is_on =
      document::ParameterValues(chosen.own->settings, engine.settings).truth(pair->own);
  return pair->own.starts_with("disable") ? !is_on : is_on;
}

std::string own_key(const EngineSection& engine, std::string_view vllm) {
  const engine::SchedulerEntry& chosen = entry_of(engine);
  if (chosen.own == nullptr) {
    return std::string(vllm);
  }
  const auto pair = std::ranges::find(chosen.own->counterparts, vllm, &engine::Counterpart::vllm);
  return pair == chosen.own->counterparts.end() ? std::string(vllm) : std::string(pair->own);
}

std::span<const Option> engine_setting_options() {
  static const NamedOptions kOptions = make_setting_options();
  return kOptions.all();
}

const engine::SchedulerEntry& entry_of(const EngineSection& section) {
  const auto choice = engine::find_engine(section.version);
  return choice ? *choice->engine : engine::schedulers().front();
}

bool applies(const Option& option, const EngineSection& engine) {
  return applies(option, entry_of(engine));
}

bool applies(const Option& option, const engine::SchedulerEntry& chosen) {
  if (option.section() != "engine" || std::ranges::find(kShared, option.key()) != kShared.end()) {
    return true;
  }
  if (has_too(chosen, option.key()) || has_setting(chosen, option.key())) {
    return true;
  }
  return chosen.own == nullptr && option.named_kind.empty();
}

bool is_standard(const Option& option, const Scenario& scenario) {
  const auto settings = settings_of(entry_of(scenario.deployment.engine));
  const auto found = std::ranges::find(settings, option.key(), &document::Parameter::name);
  return option.section() == "engine" && found != settings.end() && found->unset.empty() &&
         flow_text(found->standard_node()) == value_text(option, scenario);
}

void check_engine_settings(Findings& findings) {
  const EngineSection& section = findings.scenario().deployment.engine;
  const engine::SchedulerEntry& chosen = entry_of(section);
  if (const auto ranks = ranks_asked_for(section); !ranks) {
    for (const core::Error& error : ranks.error()) {
      findings.problem(error.field, error.message, error.hint);
    }
  }
  if (chosen.own != nullptr && !chosen.own->has_legs && findings.given(kPrefillInstances)) {
    findings.problem(kPrefillInstances, fmt::format("is not modelled for {} yet", chosen.name));
  }
  for (const Option& option : options()) {
    if (!findings.given(option.path) || applies(option, chosen)) {
      continue;
    }
    findings.problem(
        option.path,
        fmt::format("would be ignored: it is a setting of {}, and the engine is {}",
                    engines_with(option.key()),
                    section.version),
        own_word(chosen, option.key()).empty()
            ? fmt::format("--engine {}", engines_with(option.key()))
            : fmt::format("{}'s own: {}", chosen.name, own_word(chosen, option.key())));
  }
}

engine::AttentionRanks attention_ranks(const EngineSection& engine) {
  return ranks_asked_for(engine).value_or(
      engine::AttentionRanks{.ranks = 1, .gpus_each = engine.tensor_parallel_size});
}

std::optional<std::string> rank_router(const EngineSection& engine) {
  const engine::SchedulerEntry& chosen = entry_of(engine);
  return chosen.own == nullptr
             ? rank_router(engine.version)
             : std::optional(std::string(chosen.own->rank_router(own_values(chosen, engine))));
}

bool has_own_settings(const EngineSection& engine) {
  return entry_of(engine).own != nullptr;
}

core::Result<std::optional<engine::DraftSettings>> own_drafts(const EngineSection& engine,
                                                              const model::ModelSpec& network) {
  const engine::SchedulerEntry& chosen = entry_of(engine);
  if (chosen.own == nullptr || chosen.own->drafts == nullptr) {
    return std::nullopt;
  }
  auto drafts = chosen.own->drafts(own_values(chosen, engine), network);
  const auto& config = engine.speculative_config;
  if (!drafts || !config) {
    return drafts;
  }
  if (*drafts) {
    return core::fail(core::Error{.field = "engine.speculative_config",
                                  .message = "would be ignored: the engine's own words say how it "
                                             "drafts"});
  }
  return engine::DraftSettings{.method = config->method,
                               .model = config->model.value_or(""),
                               .steps = config->num_speculative_tokens,
                               .verified = config->num_speculative_tokens + 1,
                               .acceptance = config->acceptance};
}

void resolve_engine_settings(Resolution& work) {
  auto choice = work.keep(engine::find_engine(work.engine().version), "engine.version");
  if (!choice) {
    return;
  }
  const engine::OwnSettings& own = *choice->engine->own;
  work.engine().version = fmt::format("{}@{}", choice->engine->name, choice->version);
  const core::Tokens longest = work.out->network.max_position;
  const core::Tokens length =
      work.engine().max_model_len ? core::Tokens(*work.engine().max_model_len) : longest;
  if (length > longest) {
    work.note("engine.max_model_len",
              fmt::format("{} is out of range, expected 1 to {}, the network's longest",
                          length.value(),
                          longest.value()));
    return;
  }
  const std::vector<document::NamedValue> stated = stated_settings(*choice->engine, work);
  const auto& speculation = work.out->execution.speculation;
  const auto drafts = own_drafts(work.engine(), work.out->network);
  auto plan =
      own.plan({.network = work.out->network,
                .gpu = work.out->gpu,
                .sharding = work.out->execution.sharding,
                .version = choice->version,
                .max_model_len = length,
                .enforce_eager = work.engine().enforce_eager,
                .num_speculative_tokens = work.out->engine.num_speculative_tokens,
                .drafts = drafts && *drafts ? &**drafts : nullptr,
                .draft = speculation ? speculation->draft.get() : nullptr,
                .draft_sharding = speculation ? speculation->draft_sharding : model::Sharding{},
                .settings = {own.settings, stated}});
  if (!plan) {
    for (core::Error& error : plan.error()) {
      if (error.where.file.empty() && find_option(error.field) != nullptr) {
        error.where = work.place_of(error.field);
      }
      work.errors.push_back(std::move(error));
    }
    return;
  }
  work.engine().max_model_len = length.value();
  work.engine().enable_chunked_prefill = plan->options.enable_chunked_prefill;
  work.engine().settings = filled_settings(own, stated, plan->derived);
  engine::EngineOptions& options = work.out->engine;
  plan->options.num_speculative_tokens = options.num_speculative_tokens;
  plan->options.draft_acceptance = std::move(options.draft_acceptance);
  plan->options.draft_method = options.draft_method;
  options = std::move(plan->options);
  options.scheduler = choice->engine->name;
  options.max_model_len = length;
  work.out->memory = std::move(plan->memory);
  work.out->memory_lines = std::move(plan->lines);
  work.out->execution.cuda_graph_sizes = std::move(plan->cuda_graph_sizes);
  for (core::Warning& warning : plan->warnings) {
    work.out->warnings.push_back(std::move(warning));
  }
}

}  // namespace ridgeline::scenario
