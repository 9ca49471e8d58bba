#include "scenario/deployment.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/math.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "engine/first_use.hpp"
#include "engine/profiles.hpp"
#include "engine/schedulers.hpp"
#include "engine/serving.hpp"
#include "latency/step_time_model.hpp"
#include "model/context_length.hpp"
#include "model/hardware/facts.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/hf_document.hpp"
#include "model/model_spec.hpp"
#include "scenario/engine_formats.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/foreign_flags.hpp"
#include "scenario/kernel_choice.hpp"
#include "scenario/memory_limits.hpp"
#include "scenario/parallelism.hpp"
#include "scenario/patch.hpp"
#include "scenario/requests.hpp"
#include "scenario/resolution.hpp"
#include "scenario/scenario.hpp"
#include "scenario/structured_outputs.hpp"
#include "workload/options.hpp"

namespace ridgeline::scenario {

namespace {

/// What `set` calls the GPU's document.
constexpr std::string_view kHardware = "hardware";
constexpr std::string_view kRules = "rules";

core::Result<std::unique_ptr<latency::StepTimeModel>> make_latency(Resolution& work) {
  const LatencySection& latency = work.section().latency;
  return latency::make_step_time_model(
      latency.name,
      {.network = work.out->network,
       .gpu = work.out->gpu,
       .execution = work.out->execution,
       .options = {.constants = latency.constants.value_or(""),
                   .bench_data = latency.bench_data.value_or(""),
                   .hardware_config = latency.hardware_config.value_or(""),
                   .lookup = latency.lookup.value_or(""),
                   .settings = latency.settings}});
}

/// A version whose rules are another's, or not known.
void warn_of_engine_version(Resolution& work, const engine::EngineChoice& choice) {
  constexpr std::string_view kHint = "`ridgeline list engines` shows what each version changed";
  using Match = engine::EngineChoice::Match;
  if (choice.match == Match::kBeyond) {
    work.out->warnings.push_back(
        {.code = "W-unmeasured-engine-version",
         .message = fmt::format("engine.version {} is beyond {}, the newest whose rules are known: "
                                "those are taken",
                                work.engine().version,
                                choice.profile),
         .hint = std::string(kHint)});
  } else if (choice.match == Match::kOlder) {
    work.out->warnings.push_back(
        {.code = "W-engine-version",
         .message = fmt::format("engine.version {} has no profile of its own: {} is taken",
                                work.engine().version,
                                choice.profile),
         .hint = std::string(kHint)});
  }
}

void warn_of_unread_keys(Resolution& work) {
  const std::vector<std::string>& keys = work.out->network.unread_keys;
  if (!keys.empty()) {
    work.out->warnings.push_back(
        {.code = "W-config-keys",
         .message = fmt::format("this version does not know what the network's configuration says "
                                "of {}, which may change it",
                                fmt::join(keys, ", ")),
         .hint = {}});
  }
}

/// The facts of the GPU that `set` changes: of "memory.value", "memory".
std::vector<std::string> patched_facts(const std::vector<Patch>& patches) {
  std::vector<std::string> facts;
  for (const Patch& patch : patches) {
    if (patch.target == kHardware) {
      facts.push_back(patch.key.substr(0, patch.key.find('.')));
    }
  }
  return facts;
}

/// A GPU with what `set` changes in it. More memory leaves more to use.
core::Result<document::Node> patched_gpu(const std::vector<Patch>& patches,
                                         const document::Node& document) {
  auto patched = apply_patches(document, patches, kHardware);
  const auto facts = patched_facts(patches);
  const auto has = [&](std::string_view fact) { return std::ranges::count(facts, fact) > 0; };
  const bool memory_alone = has("memory") && !has("usable_memory");
  return patched && memory_alone ? hardware::with_usable_share(*patched, document)
                                 : std::move(patched);
}

/// The GPU whose name stands for what was measured: that of the catalogue, else the file's, without
/// what `set` changes.
core::Result<hardware::GpuSpec> gpu_of_its_name(const Resolution& work) {
  const auto catalogue = hardware::catalogue_names();
  const std::string& name = work.out->gpu.name;
  const bool is_known = std::ranges::find(catalogue, name) != catalogue.end();
  return hardware::find_gpu(is_known ? name : work.section().gpu);
}

/// A GPU with other facts than its name stands for: what was measured on it was measured without
/// them. Facts that are no GPU's of the catalogue may be slips.
void warn_of_changed_gpu(Resolution& work) {
  constexpr auto kUnpriced =
      std::to_array<std::string_view>({"memory", "usable_memory", "power_watts"});
  const auto catalogue = hardware::catalogue_names();
  if (patched_facts(work.section().patches).empty() &&
      std::ranges::find(catalogue, work.section().gpu) != catalogue.end()) {
    return;
  }
  core::Warnings& warnings = work.out->warnings;
  std::vector<std::string> changed;
  if (const auto original = gpu_of_its_name(work)) {
    for (const std::string& fact : hardware::differing_facts(work.out->gpu, *original)) {
      if (std::ranges::find(kUnpriced, fact) == kUnpriced.end()) {
        changed.push_back(fmt::format("{}.{}", kHardware, fact));
      }
    }
  }
  if (!changed.empty()) {
    warnings.push_back(
        {.code = "W-unmeasured-gpu",
         .message = fmt::format("no kernel was measured on {} with another {}: a what-if",
                                work.out->gpu.name,
                                fmt::join(changed, ", ")),
         .hint = "take the times as estimates"});
  }
  for (core::Warning& odd : hardware::odd_facts(work.out->gpu)) {
    warnings.push_back(std::move(odd));
  }
}

/// How the server samples: as the scenario says, or as its version does by default.
void choose_sampler(Resolution& work) {
  constexpr std::string_view kSort = "sort";
  bool& sorts = work.out->engine.profile.sorts_to_sample;
  if (const auto& sampler = work.engine().sampler) {
    sorts = *sampler == kSort;
  }
  work.engine().sampler = sorts ? kSort : "flashinfer";
}

/// How much room a request needs to be admitted.
void set_admission(Resolution& work) {
  engine::Profile& profile = work.out->engine.profile;
  const EngineSection& engine = work.engine();
  if (engine.watermark && !profile.has_watermark) {
    work.note("engine.watermark",
              fmt::format("does not exist in {}", profile.name),
              "--engine-version vllm@0.24");
  }
  if (engine.scheduler_reserve_full_isl && !profile.reserve_full_prompt) {
    work.note("engine.scheduler_reserve_full_isl",
              fmt::format("does not exist in {}", profile.name),
              "--engine-version vllm@0.20");
  }
  profile.watermark = engine.watermark.value_or(profile.watermark);
  profile.reserve_full_prompt =
      engine.scheduler_reserve_full_isl.value_or(profile.reserve_full_prompt);
}

/// Which blocks of windows can be found.
void set_retention(Resolution& work) {
  constexpr std::int64_t kNone = -1;
  engine::EngineOptions& options = work.out->engine;
  const bool exists = options.profile.thins_windows;
  const auto given = work.engine().prefix_cache_retention_interval;
  if (given && !exists) {
    work.note("engine.prefix_cache_retention_interval",
              fmt::format("is not known of {}, which keeps all blocks of windows findable",
                          options.profile.name),
              "--engine-version vllm@0.29");
  }
  // At first the default spared networks whose drafts read hidden states.
  const auto& drafts = work.engine().speculative_config;
  const bool is_spared = drafts && drafts->method != "ngram" && drafts->method != "draft_model" &&
                         !options.profile.keeps_blocks_to_extend;
  const std::int64_t interval = given.value_or(exists && !is_spared ? 0 : kNone);
  if (interval != kNone) {
    options.prefix_cache_retention_interval = core::Tokens(interval);
  }
}

/// Settings that not every version of vLLM has.
void check_versions_settings(Resolution& work) {
  set_admission(work);
  set_retention(work);
  const engine::Profile& profile = work.out->engine.profile;
  EngineSection& engine = work.engine();
  if (engine.performance_mode && !profile.has_performance_mode) {
    work.note("engine.performance_mode",
              fmt::format("does not exist in {}", profile.name),
              "--engine-version vllm@0.18");
  }
  if (engine.max_num_scheduled_tokens && !engine.max_num_batched_tokens &&
      !profile.has_scheduled_tokens) {
    // inference-sim's one budget has this name.
    engine.max_num_batched_tokens = std::exchange(engine.max_num_scheduled_tokens, std::nullopt);
    work.out->warnings.push_back(
        {.code = "W-scheduled-tokens",
         .message = fmt::format("{} has no max_num_scheduled_tokens: {} is taken as "
                                "max_num_batched_tokens",
                                profile.name,
                                *engine.max_num_batched_tokens),
         .hint = "--max-num-batched-tokens, or --engine-version vllm@0.18"});
  }
}

/// Rules of the version that `set` changes.
void set_rules(Resolution& work, bool is_vllm) {
  for (const Patch& patch : work.section().patches) {
    const std::string field = fmt::format("set.{}.{}", patch.target, patch.key);
    engine::Profile& profile = work.out->engine.profile;
    if (patch.target != kRules) {
      continue;
    }
    if (!is_vllm) {
      work.note(field, "only rules of vLLM's versions can be set", "--engine-version vllm@0.20");
    } else if (auto changed = work.keep(with_rule(profile, patch.key, patch.value), field)) {
      profile = std::move(*changed);
    }
  }
}

/// What the version brings.
void set_version(Resolution& work, bool is_vllm) {
  if (!is_vllm) {
    set_rules(work, is_vllm);
    return;
  }
  if (auto profile = work.keep(engine::find_profile(work.engine().version), "engine.version")) {
    work.out->engine.profile = std::move(*profile);
  }
  set_rules(work, is_vllm);
  choose_sampler(work);
  check_versions_settings(work);
}

model::LengthRule length_rule(std::string_view version) {
  constexpr Version kLastOlder = {0, 29};
  if (version.starts_with("sglang")) {
    return model::LengthRule::kSglang;
  }
  if (version.starts_with("tensorrt")) {
    return model::LengthRule::kStated;
  }
  const auto numbers = parse_version(version);
  return numbers && *numbers <= kLastOlder ? model::LengthRule::kVllmOlder
                                           : model::LengthRule::kVllm;
}

/// The document in the engine's formats. Where the command line puts another network in the place
/// of a file's, the file's quantisation is not of that one.
core::Result<document::Node> formatted(Resolution& work, const document::Node& document) {
  auto own = in_engine_formats(document, work.engine());
  if (own || !work.engine().quantization || !work.is_of_replaced_network("engine.quantization")) {
    return own;
  }
  work.out->warnings.push_back(
      {.code = "W-not-modelled",
       .message = fmt::format("quantization {} is of the network that the file names: {} has "
                              "formats of its own",
                              *work.engine().quantization,
                              work.section().model)});
  work.engine().quantization.reset();
  return in_engine_formats(document, work.engine());
}

void look_up(Resolution& work) {
  const auto patched = [&](std::string_view target) {
    return [&work, target](const document::Node& document) {
      return apply_patches(document, work.section().patches, target);
    };
  };
  auto network = work.keep_patched(
      model::find_model_document(work.section().model)
          .and_then([&](const document::Node& document) { return formatted(work, document); })
          .and_then(patched("model"))
          .and_then([&](const document::Node& document) {
            work.out->network_document = document;
            return model::model_from_node(document, work.section().model);
          }),
      "model",
      "model");
  auto gpu = work.keep_patched(hardware::find_gpu_document(work.section().gpu)
                                   .and_then([&](const document::Node& document) {
                                     return patched_gpu(work.section().patches, document);
                                   })
                                   .and_then([&](const document::Node& document) {
                                     work.out->gpu_document = document;
                                     return hardware::gpu_from_node(document, work.section().gpu);
                                   }),
                               "gpu",
                               "hardware");
  const auto choice = work.keep(engine::find_engine(work.engine().version), "engine.version");
  if (latency::find_step_time_model(work.section().latency.name) == nullptr) {
    // Refused by its name, whatever it would be built from.
    static_cast<void>(work.keep(make_latency(work), "latency.name"));
  }
  if (!work.errors.empty() || !network || !gpu || !choice) {
    return;
  }
  work.out->network = std::move(*network);
  work.out->network.max_position =
      model::context_length(model::lift_text_config(work.out->network_document),
                            work.out->network.max_position,
                            length_rule(work.engine().version));
  work.out->gpu = std::move(*gpu);
  set_cache_format(work.engine(), work.out->network);
  warn_of_engine_version(work, *choice);
  set_version(work, choice->engine->own == nullptr);
  warn_of_unread_keys(work);
  warn_of_changed_gpu(work);
  if (work.engine().generation_config == "vllm") {
    work.out->network.sampling = {};
  }
}

core::Duration times(double factor, core::Duration time) {
  return core::Duration::saturating(core::Seconds(factor * time.to_seconds()));
}

/// Share of the front end's work on a token that API processes do one after the other, whatever
/// their number: one process was seen to stream 13,500 tokens a second (gpt-oss-120b on B200,
/// InferenceX), three 22,200 (gpt-oss-20b on B200, ML.ENERGY).
constexpr double kFrontEndInTurn = 0.46;

/// Tokens of a mean answer, before limits.
double mean_of(const workload::Length& length) {
  struct Mean {
    double operator()(const workload::FixedLength& one) const {
      return core::real(one.value.value());
    }
    double operator()(const workload::UniformLength& one) const {
      return core::real((one.lowest + one.highest).value()) / 2.0;
    }
    double operator()(const workload::NormalLength& one) const { return one.mean; }
    double operator()(const workload::LognormalLength& one) const { return one.mean; }
    double operator()(const workload::EmpiricalLength& one) const {
      double sum = 0.0;
      double weights = 0.0;
      for (const auto& bin : one.bins) {
        sum += bin.weight * core::real(bin.value.value());
        weights += bin.weight;
      }
      return weights > 0.0 ? sum / weights : 0.0;
    }
  };
  return std::visit(Mean{}, length);
}

/// What the API processes together take to stream one token.
core::Duration front_end_time(const Resolution& work) {
  const ServingSection& own = work.section().serving;
  const core::Duration token = *own.frontend_output_time;
  core::Duration shared = times(1.0 - kFrontEndInTurn, token);
  const auto& answers = work.workload.section.output_len;
  if (own.frontend_rescan_time && answers) {
    // Answers of one batch are half written on average.
    shared = core::Duration::saturating_sum(
        shared, times(mean_of(*answers) / 2.0, *own.frontend_rescan_time));
  }
  const double processes = core::real(work.engine().api_server_count);
  return times(1.0 / core::real(work.engine().stream_interval),
               core::Duration::saturating_sum(times(kFrontEndInTurn, token),
                                              times(1.0 / processes, shared)));
}

/// Times of vLLM's ranks and front end that another engine's run does not depend on. How others
/// stream, and what their ranks cost, was not measured. What a written configuration repeats of the
/// fitted times is passed over.
void note_times_of_vllm(Resolution& work) {
  constexpr const char* kRanks = "what ranks cost was measured of vLLM alone";
  constexpr const char* kFrontEnd = "how an API server streams was measured of vLLM alone";
  const auto& fitted = engine::serving_constants();
  const ServingSection& own = work.section().serving;
  const auto note = [&](std::string_view setting, bool is_own, const char* why) {
    if (is_own) {
      work.without_effect(setting, why);
    }
  };
  note("serving.host_rank_time", own.host_rank_time != fitted.per_rank, kRanks);
  note("serving.frontend_output_time",
       own.frontend_output_time != fitted.host.per_answer,
       kFrontEnd);
  note("serving.frontend_rescan_time",
       own.frontend_rescan_time.value_or(core::Duration()) > core::Duration(),
       kFrontEnd);
  if (work.engine().stream_interval > 1) {  // `serve` and `validate` hold tokens back by it.
    work.out->warnings.push_back(
        {.code = "W-ignored-setting",
         .message = fmt::format("engine.stream_interval changes no step's time: {}", kFrontEnd),
         .hint = {}});
  }
}

/// What the host does beside the GPU. Its class stretches the engine's own work: the one slow host
/// that was measured launched kernels and streamed as fast as others.
void host_times(Resolution& work) {
  const auto& fitted = engine::serving_constants();
  ServingSection& own = work.section().serving;
  const double host_class = own.host_class.value_or(1.0);
  const auto scaled = [&](std::optional<core::Duration>& given, core::Duration otherwise) {
    given = given.value_or(otherwise);
    return times(host_class, *given);
  };
  auto& host = work.out->host;
  host.per_step = scaled(own.host_step_time, fitted.host.per_step);
  host.per_sequence = scaled(own.host_sequence_time, fitted.host.per_sequence);
  const core::Duration rank = scaled(own.host_rank_time, fitted.per_rank);
  own.frontend_output_time = own.frontend_output_time.value_or(fitted.host.per_answer);
  if (has_own_settings(work.engine())) {
    note_times_of_vllm(work);
    return;
  }
  if (engine::hides_host(work.out->engine)) {
    host.per_step = core::Duration::saturating_sum(
        host.per_step,
        core::Duration::saturating_product(rank, work.engine().tensor_parallel_size - 1));
  }
  host.per_answer = front_end_time(work);
}

/// A server that has not warmed up compiles kernels while it serves.
void stall_first_uses(Resolution& work) {
  ServingSection& own = work.section().serving;
  if (!own.first_use_stalls) {
    constexpr const char* kOff = "without effect: serving.first_use_stalls is off";
    if (own.first_use_time) {
      work.note("serving.first_use_time", kOff);
    }
    if (own.first_use_ranges) {
      work.note("serving.first_use_ranges", kOff);
    }
    return;
  }
  own.first_use_time = own.first_use_time.value_or(engine::kFirstUseStall);
  own.first_use_ranges = own.first_use_ranges.value_or(engine::kFirstUseRanges);
  if (!compiles_experts(work.out->network, work.out->gpu, work.out->execution.kernels)) {
    work.without_effect("serving.first_use_stalls",
                        "no kernel of this network is compiled on its first use");
    return;
  }
  const auto& graphs = work.out->execution.cuda_graph_sizes;
  work.out->engine.first_use = {.stall = *own.first_use_time,
                                .above = core::Tokens(graphs.empty() ? 0 : graphs.back()),
                                .warm = work.out->engine.max_num_batched_tokens,
                                .ranges = *own.first_use_ranges};
}

/// The fitted times of a server, where the scenario does not state its own.
void serving_times(Resolution& work) {
  const auto& fitted = engine::serving_constants();
  ServingSection& own = work.section().serving;
  const auto take = [](std::optional<core::Duration>& given, core::Duration otherwise) {
    given = given.value_or(otherwise);
    return *given;
  };
  host_times(work);
  if (work.section().request_path == "off") {
    if (own.network_in || own.frontend_time || own.frontend_token_time || own.emit_time ||
        own.delivery_time || own.close_time) {
      work.note("request_path", "off leaves times of the request path in `serving` without effect");
    }
    return;
  }
  auto& path = work.out->path;
  path.network = take(own.network_in, fitted.path.network);
  path.frontend = take(own.frontend_time, fitted.path.frontend);
  path.frontend_per_token = take(own.frontend_token_time, fitted.path.frontend_per_token);
  path.handoff = std::min(fitted.path.handoff, path.frontend);
  path.emit = take(own.emit_time, fitted.path.emit);
  path.deliver = take(own.delivery_time, fitted.path.deliver);
  path.close = take(own.close_time, fitted.path.close);
}

/// The memory and the limits, by the engine's own rules.
void resolve_engine(Resolution& work) {
  if (has_own_settings(work.engine())) {
    resolve_engine_settings(work);
    return;
  }
  resolve_memory(work);
  if (work.errors.empty()) {
    resolve_limits(work);
  }
}

/// "0.15.1" and "vllm@0.15.1" are one version.
std::string vllm_name(const std::string& version) {
  return version.find('@') == std::string::npos ? "vllm@" + version : version;
}

void build(Resolution& work) {
  work.out->execution.enforce_eager = runs_eagerly(work.engine());
  work.out->execution.kernels = kernel_choice(work.engine());
  work.out->execution.kernels.random_tokens = work.section().latency.random_tokens;
  if (const auto choice = engine::find_engine(work.engine().version)) {
    work.out->execution.engine = choice->engine->own == nullptr ? vllm_name(work.engine().version)
                                                                : std::string(choice->engine->name);
  }
  note_idle_choices(work);
  // Only vLLM cuts its graphs around the attention, so that they hold prompts.
  work.out->execution.graphs_hold_prompts =
      !has_own_settings(work.engine()) && work.engine().cudagraph_mode != "FULL_DECODE_ONLY";
  if (!has_own_settings(work.engine())) {
    work.out->execution.graphs_in_pieces = cuts_graphs(work.engine(), work.out->engine.profile);
    work.out->execution.cuda_graph_sizes =
        engine::cuda_graph_sizes(work.out->engine.profile,
                                 {.max_num_seqs = work.out->engine.max_num_seqs,
                                  .max_num_batched_tokens = work.out->engine.max_num_batched_tokens,
                                  .num_speculative_tokens = work.out->engine.num_speculative_tokens,
                                  .draft_levels = work.out->engine.draft_levels,
                                  .is_large_blackwell = engine::is_large_blackwell(
                                      work.out->gpu.memory, work.out->gpu.architecture),
                                  .is_gpt_oss = work.out->network.family == "gpt_oss",
                                  .largest = work.engine().max_cudagraph_capture_size,
                                  .every_small_size = captures_every_small_size(work.engine())});
  }
  serving_times(work);
  stall_first_uses(work);
  resolve_structured_outputs(work);
  auto model = work.keep(make_latency(work), "latency.name");
  if (model) {
    work.out->latency = std::move(*model);
    work.section().latency.settings = work.out->latency->settings();
    const auto notes = work.out->latency->notes();
    work.out->warnings.insert(work.out->warnings.end(), notes.begin(), notes.end());
  }
}

}  // namespace

core::Result<std::shared_ptr<const Deployment>> resolve_deployment(
    DeploymentSection section,
    const std::vector<Provenance>& provenance,
    const Workload& workload) {
  Resolution work(std::move(section), provenance, workload);
  // In the order in which values depend on each other; a part that fails ends it.
  for (const auto part : {look_up, resolve_parallelism, resolve_engine, build}) {
    part(work);
    if (!work.errors.empty()) {
      return core::fail(std::move(work.errors));
    }
  }
  return std::move(work.out);
}

}  // namespace ridgeline::scenario
