#include "sim/resolve.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/document.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "engine/capacity.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "engine/serving.hpp"
#include "hardware/gpu_spec.hpp"
#include "latency/step_time_model.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "sim/engine_formats.hpp"
#include "sim/fitting.hpp"
#include "sim/options.hpp"
#include "sim/patch.hpp"
#include "sim/requests.hpp"
#include "sim/scenario.hpp"
#include "sim/speculation.hpp"

namespace ridgeline::sim {

namespace {

/// A network fits where the KV cache holds a request of this length, or of the network's longest: a
/// hint that leaves less room is of no use.
constexpr core::Tokens kUsefulLength{8192};

/// Fills one Resolved, in the order in which values depend on each other; each stage that fails
/// ends it.
class Resolver {
 public:
  explicit Resolver(LoadedScenario loaded)
      : given_(loaded.scenario), loaded_(std::move(loaded)), out_(std::make_unique<Resolved>()) {
    out_->scenario = given_;
    fill_workload(out_->scenario.workload);
  }

  core::Result<std::unique_ptr<Resolved>> run() {
    for (const auto stage : {&Resolver::look_up,
                             &Resolver::check_sharding,
                             &Resolver::plan_memory,
                             &Resolver::limits,
                             &Resolver::build}) {
      (this->*stage)();
      if (!errors_.empty()) {
        return core::fail(std::move(errors_));
      }
    }
    trace_provenance();
    return std::move(out_);
  }

 private:
  EngineSection& engine() { return out_->scenario.engine; }

  void note(std::string_view field, std::string message, std::string hint = {}) {
    errors_.push_back({.field = std::string(field),
                       .message = std::move(message),
                       .where = loaded_.of(field).where,
                       .hint = std::move(hint)});
  }
  void infeasible(std::string_view field, std::string message, std::string hint) {
    note(field, std::move(message), std::move(hint));
    errors_.back().code = core::ErrorCode::kInfeasible;
  }
  /// Errors of another layer about the value of an option: they get its name and place where they
  /// have none.
  template <class T>
  std::optional<T> keep(core::Result<T> result, std::string_view field) {
    if (result) {
      return std::move(*result);
    }
    for (auto& error : result.error()) {
      if (error.field.empty()) {
        error.field = field;
      }
      if (error.where.file.empty()) {
        error.where = loaded_.of(field).where;
      }
      errors_.push_back(std::move(error));
    }
    return std::nullopt;
  }

  template <class T>
  std::optional<T> keep_patched(core::Result<T> result,
                                std::string_view field,
                                std::string_view target) {
    if (!result) {
      for (auto& error : result.error()) {
        locate_patch_error(error, given_.patches, target);
      }
    }
    return keep(std::move(result), field);
  }

  void look_up() {
    const auto patched = [&](std::string_view target) {
      return [this, target](const core::Node& document) {
        return apply_patches(document, given_.patches, target);
      };
    };
    auto network = keep_patched(model::find_model_document(given_.model)
                                    .and_then([&](const core::Node& document) {
                                      return in_engine_formats(document, given_.engine);
                                    })
                                    .and_then(patched("model"))
                                    .and_then([&](const core::Node& document) {
                                      out_->network_document = document;
                                      return model::model_from_node(document, given_.model);
                                    }),
                                "model",
                                "model");
    auto gpu = keep_patched(hardware::find_gpu_document(given_.gpu)
                                .and_then(patched("hardware"))
                                .and_then([&](const core::Node& document) {
                                  out_->gpu_document = document;
                                  return hardware::gpu_from_node(document, given_.gpu);
                                }),
                            "gpu",
                            "hardware");
    auto profile = keep(engine::find_profile(given_.engine.version), "engine.version");
    if (latency::find_step_time_model(given_.latency.name) == nullptr) {
      // Refused by its name, whatever it would be built from.
      static_cast<void>(keep(make_latency(), "latency.name"));
    }
    if (!errors_.empty() || !network || !gpu || !profile) {
      return;
    }
    out_->network = std::move(*network);
    out_->gpu = std::move(*gpu);
    out_->engine.profile = std::move(*profile);
    set_cache_format(given_.engine, out_->network);
    warn_of_engine_version();
    warn_of_unread_keys();
    if (given_.engine.generation_config == "vllm") {
      out_->network.sampling = {};
    }
  }

  void warn_of_engine_version() {
    if (const engine::Profile* newest = engine::newest_below(given_.engine.version)) {
      out_->warnings.push_back(
          {.code = "W-unmeasured-engine-version",
           .message =
               fmt::format("engine.version {} is beyond {}, the newest whose rules are known: "
                           "those are taken",
                           given_.engine.version,
                           newest->name),
           .hint = "`ridgeline list engines` shows what each version changed"});
    }
  }

  void warn_of_unread_keys() {
    const std::vector<std::string>& keys = out_->network.unread_keys;
    if (!keys.empty()) {
      out_->warnings.push_back(
          {.code = "W-config-keys",
           .message = fmt::format("keys of the network's configuration that this version does not "
                                  "know, and that may change it: {}",
                                  fmt::join(keys, ", ")),
           .hint = {}});
    }
  }

  /// What the scenario asks for and no step-time model prices.
  void warn_of_unpriced() {
    const std::int64_t size = given_.engine.tensor_parallel_size;
    const std::int64_t node = std::max(out_->gpu.gpus_per_node, out_->gpu.link_domain);
    if (size > node) {
      out_->warnings.push_back(
          {.code = "W-unpriced-nodes",
           .message =
               fmt::format("tensor_parallel_size {} spans nodes of {} GPUs: exchanges between "
                           "nodes are priced as within one, which is too short",
                           size,
                           node),
           .hint = fmt::format("--tensor-parallel-size {} with --pipeline-parallel-size", node)});
    }
    if (out_->network.vision && given_.workload.trace) {
      out_->warnings.push_back(
          {.code = "W-unpriced-encoder",
           .message = "the time of the vision encoder is not priced: an image costs its tokens of "
                      "the prompt alone",
           .hint = {}});
    }
  }

  void check_sharding() {
    const std::int64_t size = given_.engine.tensor_parallel_size;
    model::Sharding& sharding = out_->execution.sharding;
    sharding = {.tensor_parallel_size = size,
                .pipeline_parallel_size = given_.engine.pipeline_parallel_size,
                .data_parallel_size = given_.engine.data_parallel_size,
                .prefill_context_parallel_size = given_.engine.prefill_context_parallel_size,
                .expert_parallel = given_.engine.enable_expert_parallel};
    for (const auto backend : {model::AllToAllBackend::kDeepEpHighThroughput,
                               model::AllToAllBackend::kDeepEpLowLatency}) {
      if (given_.engine.all2all_backend == model::name(backend)) {
        sharding.all_to_all = backend;
      }
    }
    if (auto result = model::check_sharding(out_->network, sharding); !result) {
      for (auto& error : result.error()) {
        error.where = loaded_.of(error.field).where;
        errors_.push_back(std::move(error));
      }
      return;
    }
    if (given_.engine.decode_context_parallel_size > 1) {
      note("engine.decode_context_parallel_size",
           fmt::format("{} is not modelled yet: every rank holds its sequences' whole KV cache",
                       given_.engine.decode_context_parallel_size));
    }
    speculate();
    only_kernel_knows();
    share_workload();
    warn_of_unpriced();
  }

  /// Says how one data-parallel rank comes by its requests.
  void share_workload() {
    const std::int64_t ranks = out_->execution.sharding.data_parallel_size;
    if (ranks == 1) {
      return;
    }
    const WorkloadSection& whole = out_->scenario.workload;
    const WorkloadSection rank = rank_workload(out_->scenario);
    std::string share = "its part of the workload";
    if (whole.trace) {
      share = fmt::format("every {}th session of the trace, or request without one", ranks);
    } else if (whole.max_concurrency) {
      share = fmt::format("{} of {} clients", *rank.max_concurrency, *whole.max_concurrency);
    } else if (whole.request_rate) {
      share = fmt::format("{} of {} requests/s", *rank.request_rate, *whole.request_rate);
    }
    if (whole.num_prompts && !whole.trace) {
      share += fmt::format(", {} of {} requests", *rank.num_prompts, *whole.num_prompts);
    }
    const bool has_experts =
        std::ranges::any_of(out_->network.layers, [](const model::LayerGroup& group) {
          return std::holds_alternative<model::MoeFfn>(group.ffn);
        });
    out_->warnings.push_back(
        {.code = "W-data-parallel",
         .message =
             fmt::format("one of {} data-parallel ranks is simulated, with {}; the others {}",
                         ranks,
                         share,
                         has_experts ? "step with it, equally loaded" : "are loaded alike"),
         .hint = "latencies, counts and utilisation are that rank's"});
  }

  void speculate() {
    const auto& config = given_.engine.speculative_config;
    if (!config) {
      return;
    }
    out_->execution.speculation =
        keep(resolve_speculation(*config, out_->network, out_->execution.sharding),
             "engine.speculative_config");
    auto& options = out_->engine;
    options.num_speculative_tokens = config->num_speculative_tokens;
    options.draft_acceptance = config->acceptance;
    options.acceptance_seed = static_cast<std::uint64_t>(given_.seed);
    options.draft_method = config->method == "ngram"         ? engine::DraftMethod::kNgram
                           : config->method == "draft_model" ? engine::DraftMethod::kDraftModel
                                                             : engine::DraftMethod::kEagle;
  }

  /// Models after others' formulas divide by tensor_parallel_size and know nothing further.
  void only_kernel_knows() {
    const model::Sharding& sharding = out_->execution.sharding;
    const bool plain = sharding.gpus() == sharding.tensor_parallel_size &&
                       !sharding.expert_parallel && !out_->execution.speculation;
    if (!plain && !given_.latency.name.starts_with("kernel")) {
      note("latency.name",
           fmt::format("{} knows tensor parallelism alone, no other cut of a network and no drafts",
                       given_.latency.name),
           "--latency kernel");
    }
  }

  [[nodiscard]] engine::MemoryOptions memory_options() {
    const auto limits = engine::default_limits(out_->gpu.memory, out_->gpu.architecture);
    const auto& speculation = out_->execution.speculation;
    return {.sharding = out_->execution.sharding,
            .draft = speculation ? speculation->draft.get() : nullptr,
            .draft_sharding = speculation ? speculation->draft_sharding : model::Sharding{},
            .gpu_memory_utilization = engine().gpu_memory_utilization.value_or(
                out_->engine.profile.default_gpu_memory_utilization),
            .block_size = core::Tokens(engine().block_size),
            .max_num_seqs = engine().max_num_seqs.value_or(limits.max_num_seqs),
            .max_num_batched_tokens = core::Tokens(
                engine().max_num_batched_tokens.value_or(limits.max_num_batched_tokens.value())),
            .enforce_eager = engine().enforce_eager,
            .sorts_in_sampler = engine().sampler != "flashinfer",
            .profile = out_->engine.profile};
  }

  void plan_memory() {
    out_->memory = engine::plan_memory(out_->network, out_->gpu, memory_options());
    divide_blocks();
    if (given_.engine.num_gpu_blocks) {
      const std::int64_t blocks = *given_.engine.num_gpu_blocks;
      if (given_.engine.gpu_memory_utilization && blocks != out_->memory.num_gpu_blocks.value()) {
        note(
            "engine.num_gpu_blocks",
            fmt::format(
                "{} beside gpu_memory_utilization {}, which gives {}: one of them would be ignored",
                blocks,
                *given_.engine.gpu_memory_utilization,
                out_->memory.num_gpu_blocks.value()),
            "take one of them out");
      }
      out_->engine.num_gpu_blocks = core::Blocks(blocks);
      return;
    }
    out_->engine.num_gpu_blocks = out_->memory.num_gpu_blocks;
    engine().num_gpu_blocks = out_->memory.num_gpu_blocks.value();
    engine().gpu_memory_utilization = out_->memory.utilization;
    if (usable_tokens() < out_->memory.block_size.value()) {
      infeasible("model",
                 fmt::format("{} does not fit: {}", out_->network.name, memory_sum()),
                 hint_for(std::min(kUsefulLength, out_->network.max_position)));
    }
  }

  /// What the kinds of cache mean for the engine.
  void divide_blocks() {
    const engine::MemoryPlan& plan = out_->memory;
    out_->engine.cache_groups = engine::engine_cache_groups(plan);
    const bool has_state = std::ranges::any_of(plan.layouts, [](const engine::CacheLayout& layout) {
      return layout.kind == engine::CacheLayout::Kind::kState;
    });
    if (!has_state) {
      return;
    }
    if (plan.block_size.value() != engine().block_size) {
      out_->warnings.push_back(
          {.code = "W-block-size",
           .message = fmt::format("block_size is {}, not {}: a block must hold a layer's state",
                                  plan.block_size.value(),
                                  engine().block_size),
           .hint = {}});
    }
    if (loaded_.of("engine.enable_prefix_caching").origin != Provenance::Origin::kDefault &&
        engine().enable_prefix_caching) {
      out_->warnings.push_back(
          {.code = "W-prefix-caching",
           .message = "enable_prefix_caching is off: hits of recurrent states are not modelled yet",
           .hint = {}});
    }
    // vLLM's default for networks with states, which a hit would need a copy of.
    engine().enable_prefix_caching = false;
  }

  /// Tokens that one request can have in the KV cache, up to the network's longest.
  [[nodiscard]] std::int64_t usable_tokens() {
    const core::Tokens longest = std::max({out_->network.max_position,
                                           core::Tokens(given_.engine.max_model_len.value_or(0)),
                                           out_->memory.block_size});
    return engine::longest_request(out_->memory,
                                   out_->engine.num_gpu_blocks,
                                   memory_options().max_num_batched_tokens,
                                   longest)
        .value();
  }

  [[nodiscard]] std::string memory_sum() {
    const auto& plan = out_->memory;
    return fmt::format(
        "{:.2f} GiB of each {} x {} gpu_memory_utilization - {:.2f} weights - {:.2f} activations, "
        "graphs and context = {:.2f} GiB for the KV cache, {} blocks of {:.0f} KiB",
        core::as_gibibytes(plan.usable),
        out_->gpu.name,
        plan.utilization,
        core::as_gibibytes(plan.weights),
        core::as_gibibytes(plan.reserve),
        core::as_gibibytes(plan.kv_cache),
        plan.num_gpu_blocks.value(),
        plan.block.value() / 1024.0);
  }

  /// What would hold a request of so many tokens.
  [[nodiscard]] std::string hint_for(core::Tokens tokens) {
    if (given_.engine.num_gpu_blocks) {
      const auto& plan = out_->memory;
      const std::int64_t blocks =
          engine::blocks_of_request(plan, tokens, memory_options().max_num_batched_tokens) + 1;
      return fmt::format("--num-gpu-blocks {} holds it", blocks);
    }
    return fitting_hint({.network = out_->network,
                         .gpu = out_->gpu,
                         .options = memory_options(),
                         .tokens = tokens});
  }

  void limits() {
    model_length();
    batch_limits();
    auto& options = out_->engine;
    options.block_size = out_->memory.block_size;
    options.max_num_seqs = engine().max_num_seqs.value_or(0);
    options.max_num_batched_tokens = core::Tokens(engine().max_num_batched_tokens.value_or(0));
    options.max_model_len = core::Tokens(engine().max_model_len.value_or(0));
    options.long_prefill_token_threshold = core::Tokens(engine().long_prefill_token_threshold);
    options.enable_chunked_prefill = engine().enable_chunked_prefill;
    options.enable_prefix_caching = engine().enable_prefix_caching;
    schedule_ahead();
    order_of_requests();
  }

  /// Which waiting request goes first, and which have to wait for an adapter's place.
  void order_of_requests() {
    auto& options = out_->engine;
    if (given_.engine.scheduling_policy == "priority") {
      if (!options.profile.has_priority_policy) {
        note("engine.scheduling_policy",
             fmt::format("priority does not exist in {}, which serves first come first served",
                         options.profile.name),
             "--engine-version vllm@0.9");
      }
      options.policy = engine::SchedulingPolicy::kPriority;
    }
    if (given_.engine.enable_lora) {
      constexpr std::int64_t kDefaultMaxLoras = 1;  // vLLM's LoRAConfig.max_loras.
      engine().max_loras = given_.engine.max_loras.value_or(kDefaultMaxLoras);
      options.max_loras = *engine().max_loras;
      out_->warnings.push_back(
          {.code = "W-unpriced-lora",
           .message = "adapters cost nothing: max_loras holds requests back, but the adapters' "
                      "weights take no memory, and their kernels and loading no time",
           .hint = {}});
    }
  }

  /// Where vLLM forms steps before it has seen the last one's tokens.
  void schedule_ahead() {
    auto& options = out_->engine;
    const std::int64_t stages = given_.engine.pipeline_parallel_size;
    const bool looks_up =
        options.num_speculative_tokens > 0 && options.draft_method == engine::DraftMethod::kNgram;
    if (stages > 1) {
      options.pipeline_depth = stages;
      if (engine().async_scheduling.value_or(false)) {
        note("engine.async_scheduling",
             fmt::format("true with pipeline_parallel_size {} is not modelled yet", stages));
      }
    }
    if (!engine().async_scheduling) {
      // Drafts from a prompt need its last tokens, which the host then waits for.
      engine().async_scheduling = options.profile.async_by_default && stages == 1 && !looks_up;
    }
    options.async_scheduling = *engine().async_scheduling;
  }

  void model_length() {
    const std::int64_t network = out_->network.max_position.value();
    const std::int64_t fits = usable_tokens();
    if (!given_.engine.max_model_len) {
      engine().max_model_len = std::min(network, fits);
      if (fits < network) {
        out_->warnings.push_back(
            {.code = "W-max-model-len",
             .message =
                 fmt::format("max_model_len is {}, what the KV cache holds, not the network's "
                             "{}: vLLM needs --max-model-len {} to start",
                             fits,
                             network,
                             fits),
             .hint = hint_for(out_->network.max_position)});
      }
      return;
    }
    const std::int64_t wanted = *given_.engine.max_model_len;
    if (wanted > network) {
      note("engine.max_model_len",
           fmt::format(
               "{} is out of range, expected 1 to {}, the network's longest", wanted, network));
    } else if (wanted > fits) {
      infeasible(
          "engine.max_model_len",
          fmt::format("one request of {} tokens does not fit in the KV cache, which holds {}: {}",
                      wanted,
                      fits,
                      memory_sum()),
          hint_for(core::Tokens(wanted)));
    }
  }

  void batch_limits() {
    const auto defaults = engine::default_limits(out_->gpu.memory, out_->gpu.architecture);
    const std::int64_t longest = engine().max_model_len.value_or(0);
    if (!given_.engine.max_num_batched_tokens) {
      const std::int64_t tokens = defaults.max_num_batched_tokens.value();
      engine().max_num_batched_tokens =
          engine().enable_chunked_prefill ? tokens : std::max(tokens, longest);
    } else if (!engine().enable_chunked_prefill &&
               *given_.engine.max_num_batched_tokens < longest) {
      note("engine.max_num_batched_tokens",
           fmt::format(
               "{} is below max_model_len {}: without chunked prefill such a prompt never runs",
               *given_.engine.max_num_batched_tokens,
               longest));
    }
    const std::int64_t tokens = *engine().max_num_batched_tokens;
    if (!given_.engine.max_num_seqs) {
      engine().max_num_seqs = std::min(defaults.max_num_seqs, tokens);
    } else if (*given_.engine.max_num_seqs > tokens) {
      note("engine.max_num_seqs",
           fmt::format("{} is above max_num_batched_tokens {}: every running request needs a token "
                       "of a step",
                       *given_.engine.max_num_seqs,
                       tokens));
    }
    const engine::EngineOptions& options = out_->engine;
    const bool drafts_read = options.profile.drafts_take_input_slots &&
                             options.num_speculative_tokens > 0 &&
                             options.draft_method == engine::DraftMethod::kDraftModel;
    if (drafts_read && tokens < 2) {
      note("engine.max_num_batched_tokens",
           fmt::format("{} leaves no request a token beside the one that its draft model reads, "
                       "expected 2 or more",
                       tokens));
    }
  }

  [[nodiscard]] core::Result<std::unique_ptr<latency::StepTimeModel>> make_latency() const {
    const LatencySection& latency = given_.latency;
    return latency::make_step_time_model(
        latency.name,
        {.network = out_->network,
         .gpu = out_->gpu,
         .execution = out_->execution,
         .options = {.constants = latency.constants.value_or(""),
                     .bench_data = latency.bench_data.value_or(""),
                     .hardware_config = latency.hardware_config.value_or(""),
                     .lookup = latency.lookup.value_or(""),
                     .settings = latency.settings}});
  }

  /// The fitted times of a server, where the scenario does not state its own.
  void serving_times() {
    const auto& fitted = engine::serving_constants();
    ServingSection& own = out_->scenario.serving;
    const auto take = [](std::optional<core::Duration>& given, core::Duration otherwise) {
      given = given.value_or(otherwise);
      return *given;
    };
    out_->host.per_step = take(own.host_step_time, fitted.host.per_step);
    out_->host.per_sequence = take(own.host_sequence_time, fitted.host.per_sequence);
    if (given_.request_path == "off") {
      if (own.network_in || own.frontend_time || own.frontend_token_time || own.emit_time ||
          own.delivery_time || own.close_time) {
        note("request_path", "off leaves times of the request path in `serving` without effect");
      }
      return;
    }
    auto& path = out_->path;
    path.network = take(own.network_in, fitted.path.network);
    path.frontend = take(own.frontend_time, fitted.path.frontend);
    path.frontend_per_token = take(own.frontend_token_time, fitted.path.frontend_per_token);
    path.handoff = std::min(fitted.path.handoff, path.frontend);
    path.emit = take(own.emit_time, fitted.path.emit);
    path.deliver = take(own.delivery_time, fitted.path.deliver);
    path.close = take(own.close_time, fitted.path.close);
  }

  void build() {
    if (!engine().enforce_eager) {
      out_->execution.cuda_graph_sizes = engine::cuda_graph_sizes(
          out_->engine.profile, out_->engine.max_num_seqs, out_->engine.max_num_batched_tokens);
    }
    serving_times();
    auto model = keep(make_latency(), "latency.name");
    if (model) {
      out_->latency = std::move(*model);
      out_->scenario.latency.settings = out_->latency->settings();
      const auto notes = out_->latency->notes();
      out_->warnings.insert(out_->warnings.end(), notes.begin(), notes.end());
    }
  }

  /// What was unset and is set now was derived.
  void trace_provenance() {
    out_->provenance = loaded_.provenance;
    auto provenance = out_->provenance.begin();
    for (const auto& option : options()) {
      if (value_node(option, given_).is_null() && !value_node(option, out_->scenario).is_null()) {
        provenance->origin = Provenance::Origin::kDerived;
      }
      std::advance(provenance, 1);
    }
  }

  const Scenario given_;
  LoadedScenario loaded_;
  std::unique_ptr<Resolved> out_;
  core::Errors errors_;
};

}  // namespace

core::Result<std::unique_ptr<Resolved>> resolve(LoadedScenario loaded) {
  return Resolver(std::move(loaded)).run();
}

}  // namespace ridgeline::sim
