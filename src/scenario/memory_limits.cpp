#include "scenario/memory_limits.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "engine/capacity.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "model/operators.hpp"
#include "scenario/deployment.hpp"
#include "scenario/fitting.hpp"
#include "scenario/kernel_choice.hpp"
#include "scenario/parallelism.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

namespace {

/// A network fits where the KV cache holds a request of this length, or of the network's longest: a
/// hint that leaves less room is of no use.
constexpr core::Tokens kUsefulLength{8192};

/// vLLM's defaults for the deployment, in the order in which its EngineArgs change them.
engine::DefaultLimits limits_of(Resolution& work) {
  constexpr core::Tokens kBatchedExpertsBudget{256};  // vllm/config/scheduler.py
  constexpr std::int64_t kThroughputFactor = 2;       // vllm/engine/arg_utils.py
  const engine::Profile& profile = work.out->engine.profile;
  const model::Sharding& sharding = work.out->execution.sharding;
  engine::DefaultLimits limits = engine::default_limits(
      profile, work.out->gpu.memory, work.out->gpu.architecture, work.out->gpu.name == "gb10");
  if (profile.small_budget_of_batched_experts && sharding.expert_parallel &&
      sharding.all_to_all == model::AllToAllBackend::kDeepEpLowLatency &&
      ranks_in_lock_step(work.out->network, sharding) > 1) {
    limits.max_num_batched_tokens = kBatchedExpertsBudget;
  }
  if (work.engine().performance_mode == "throughput") {
    limits.max_num_seqs *= kThroughputFactor;
    limits.max_num_batched_tokens = limits.max_num_batched_tokens * kThroughputFactor;
  }
  return limits;
}

engine::MemoryOptions memory_options(Resolution& work) {
  const auto limits = limits_of(work);
  const auto& speculation = work.out->execution.speculation;
  const auto& host = work.out->execution.host_weights;
  const auto& kv = work.engine().kv_cache_memory_bytes;
  return {.sharding = work.out->execution.sharding,
          .draft = speculation ? speculation->draft.get() : nullptr,
          .draft_sharding = speculation ? speculation->draft_sharding : model::Sharding{},
          .host_weights = host ? host->spared : core::Bytes(),
          .gpu_memory_utilization = work.engine().gpu_memory_utilization.value_or(
              work.out->engine.profile.default_gpu_memory_utilization),
          .kv_cache = kv ? std::optional(core::Bytes(static_cast<double>(*kv))) : std::nullopt,
          .block_size = core::Tokens(work.engine().block_size),
          .max_num_seqs = work.engine().max_num_seqs.value_or(limits.max_num_seqs),
          .max_num_batched_tokens = core::Tokens(
              work.engine().max_num_batched_tokens.value_or(limits.max_num_batched_tokens.value())),
          .enforce_eager = runs_eagerly(work.engine()),
          .whole_graphs =
              !runs_eagerly(work.engine()) && !cuts_graphs(work.engine(), work.out->engine.profile),
          .num_speculative_tokens = work.out->engine.num_speculative_tokens,
          .draft_levels = work.out->engine.draft_levels,
          .is_large_blackwell =
              engine::is_large_blackwell(work.out->gpu.memory, work.out->gpu.architecture),
          .max_cudagraph_capture_size = work.engine().max_cudagraph_capture_size,
          .every_small_size = captures_every_small_size(work.engine()),
          .profile = work.out->engine.profile};
}

/// vLLM's checks where prefix caching keeps states at the ends of blocks: a chunk of a block must
/// fit in a step.
void check_state_caching(Resolution& work) {
  constexpr std::string_view kOff = "--no-enable-prefix-caching";
  const std::int64_t block = work.out->memory.block_size.value();
  const auto check = [&](std::string_view field, std::optional<std::int64_t> tokens) {
    if (tokens.value_or(block) < block) {
      work.note(field,
                fmt::format("{} is below the block size {}: prefix caching keeps recurrent states "
                            "at the ends of blocks, and no step would reach one",
                            *tokens,
                            block),
                std::string(kOff));
    }
  };
  const std::int64_t threshold = work.engine().long_prefill_token_threshold;
  check("engine.max_num_batched_tokens", memory_options(work).max_num_batched_tokens.value());
  check("engine.max_num_scheduled_tokens", work.engine().max_num_scheduled_tokens);
  check("engine.long_prefill_token_threshold",
        threshold == 0 ? std::nullopt : std::optional(threshold));
  if (!work.engine().enable_chunked_prefill) {
    work.note("engine.enable_chunked_prefill",
              "is off: prefix caching keeps recurrent states at the ends of blocks, where prompts "
              "are cut",
              std::string(kOff));
  }
}

/// Prefix caching of a network with recurrent states, as vLLM's version has it.
void cache_states(Resolution& work) {
  const engine::Profile& profile = work.out->engine.profile;
  const bool is_modelled = work.out->engine.num_speculative_tokens == 0;
  const bool asked = work.is_given("engine.enable_prefix_caching");
  if (profile.caches_states && is_modelled && (asked || profile.caches_states_by_default)) {
    if (work.engine().enable_prefix_caching) {
      work.out->engine.cache_groups = engine::engine_cache_groups(work.out->memory, true);
      check_state_caching(work);
    }
    return;
  }
  const bool shares = work.workload.section.prefix_len.value_or(0) > 0;
  if ((asked || shares) && work.engine().enable_prefix_caching) {
    work.out->warnings.push_back(prefix_caching_off());
  }
  // Older versions' default, and where drafts are not modelled.
  work.engine().enable_prefix_caching = false;
}

/// What the kinds of cache mean for the engine.
void divide_blocks(Resolution& work) {
  const engine::MemoryPlan& plan = work.out->memory;
  work.out->engine.cache_groups = engine::engine_cache_groups(plan);
  if (!plan.has_states()) {
    return;
  }
  if (plan.block_size.value() !=
      work.engine().block_size * work.engine().decode_context_parallel_size) {
    work.out->warnings.push_back(
        {.code = "W-block-size",
         .message = fmt::format("block_size is {}, not {}: a block must hold a layer's state",
                                plan.block_size.value(),
                                work.engine().block_size),
         .hint = {}});
  }
  cache_states(work);
}

/// Tokens that one request can have in the KV cache, up to the network's longest.
std::int64_t usable_tokens(Resolution& work) {
  const core::Tokens longest = std::max({work.out->network.max_position,
                                         core::Tokens(work.engine().max_model_len.value_or(0)),
                                         work.out->memory.block_size});
  return engine::longest_request(work.out->memory,
                                 work.out->engine.num_gpu_blocks,
                                 memory_options(work).max_num_batched_tokens,
                                 longest)
      .value();
}

std::string memory_sum(Resolution& work) {
  const auto& plan = work.out->memory;
  if (work.is_given("engine.kv_cache_memory_bytes")) {
    return fmt::format("kv_cache_memory_bytes gives {:.2f} GiB, {} blocks of {:.0f} KiB",
                       core::as_gibibytes(plan.kv_cache),
                       plan.num_gpu_blocks.value(),
                       plan.block.value() / 1024.0);
  }
  return fmt::format(
      "{:.2f} GiB of each {} x {} gpu_memory_utilization - {:.2f} weights - {:.2f} activations, "
      "graphs and context = {:.2f} GiB for the KV cache, {} blocks of {:.0f} KiB",
      core::as_gibibytes(plan.usable),
      work.out->gpu.name,
      plan.utilization,
      core::as_gibibytes(plan.weights),
      core::as_gibibytes(plan.reserve),
      core::as_gibibytes(plan.kv_cache),
      plan.num_gpu_blocks.value(),
      plan.block.value() / 1024.0);
}

/// What would hold a request of so many tokens.
std::string hint_for(Resolution& work, core::Tokens tokens) {
  if (work.is_given("engine.num_gpu_blocks")) {
    const auto& plan = work.out->memory;
    const std::int64_t blocks =
        engine::blocks_of_request(plan, tokens, memory_options(work).max_num_batched_tokens) + 1;
    return fmt::format("--num-gpu-blocks {} holds it", blocks);
  }
  return fitting_hint({.network = work.out->network,
                       .gpu = work.out->gpu,
                       .options = memory_options(work),
                       .tokens = tokens});
}

/// ", by an estimate ..." where no more is missing to hold so many tokens than what the estimate
/// may be wrong by.
std::string doubt_of_refusal(Resolution& work, core::Tokens tokens) {
  constexpr double kDoubt = 0.05;  // of the budget
  const auto& plan = work.out->memory;
  const std::int64_t blocks =
      engine::blocks_of_request(plan, tokens, memory_options(work).max_num_batched_tokens) + 1;
  const core::Bytes missing = plan.block * static_cast<double>(blocks) - plan.kv_cache;
  if (work.is_given("engine.num_gpu_blocks") || work.is_given("engine.kv_cache_memory_bytes") ||
      missing > plan.budget * kDoubt) {
    return {};
  }
  return fmt::format(
      ", by an estimate that {:.2f} GiB are missing, within {:.0f} % of the budget "
      "(--num-gpu-blocks "
      "takes the number of a server's log instead)",
      core::as_gibibytes(missing),
      100.0 * kDoubt);
}

/// Which waiting request goes first, and which have to wait for an adapter's place.
void order_of_requests(Resolution& work) {
  auto& options = work.out->engine;
  if (work.engine().scheduling_policy == "priority") {
    if (!options.profile.has_priority_policy) {
      work.note("engine.scheduling_policy",
                fmt::format("priority does not exist in {}, which serves first come first served",
                            options.profile.name),
                "--engine-version vllm@0.9");
    }
    options.policy = engine::SchedulingPolicy::kPriority;
  }
  if (work.engine().enable_lora) {
    constexpr std::int64_t kDefaultMaxLoras = 1;  // vLLM's LoRAConfig.max_loras.
    work.engine().max_loras = work.engine().max_loras.value_or(kDefaultMaxLoras);
    options.max_loras = *work.engine().max_loras;
    work.out->warnings.push_back(
        {.code = "W-unpriced-lora",
         .message = "adapters cost nothing: max_loras holds requests back, but the adapters' "
                    "weights take no memory, and their kernels and loading no time",
         .hint = {}});
  }
}

/// Where vLLM forms steps before it has seen the last one's tokens.
void schedule_ahead(Resolution& work) {
  auto& options = work.out->engine;
  const std::int64_t stages = work.engine().pipeline_parallel_size;
  const bool looks_up =
      options.num_speculative_tokens > 0 && options.draft_method == engine::DraftMethod::kNgram;
  if (stages > 1) {
    options.pipeline_depth = stages;
    if (work.engine().async_scheduling.value_or(false)) {
      work.note("engine.async_scheduling",
                fmt::format("true with pipeline_parallel_size {} is not modelled yet", stages));
    }
  }
  if (!work.engine().async_scheduling) {
    // Drafts from a prompt need its last tokens, which the host then waits for.
    work.engine().async_scheduling = options.profile.async_by_default && stages == 1 && !looks_up;
  }
  options.async_scheduling = *work.engine().async_scheduling;
  // Steps of ML.ENERGY's servers (0.11.1), whose requests sample, take what the host takes beside
  // what the GPU takes; those of greedy requests (InferenceX, 0.10.2) do not. The reason is not
  // known (docs/models/host.md, "Before vLLM 0.14").
  if (options.async_scheduling && !options.profile.async_by_default &&
      work.engine().generation_config != "vllm") {
    options.waits_for_host = true;
    work.out->warnings.push_back(
        {.code = std::string(kAsyncWaitsWarning),
         .message = "before vLLM 0.14 asynchronous steps wait for the host where requests sample",
         .hint = "--generation-config vllm for clients that ask for temperature 0"});
  }
}

void model_length(Resolution& work) {
  const std::int64_t network = work.out->network.max_position.value();
  const std::int64_t fits = usable_tokens(work);
  if (!work.engine().max_model_len) {
    work.engine().max_model_len = std::min(network, fits);
    if (fits < network) {
      work.out->warnings.push_back(
          {.code = "W-max-model-len",
           .message = fmt::format("max_model_len is {}, what the KV cache holds, not the network's "
                                  "{}: vLLM needs --max-model-len {} to start",
                                  fits,
                                  network,
                                  fits),
           .hint = hint_for(work, work.out->network.max_position)});
    }
    return;
  }
  const std::int64_t wanted = *work.engine().max_model_len;
  if (wanted > network) {
    work.note(
        "engine.max_model_len",
        fmt::format("{} is out of range, expected 1 to {}, the network's longest", wanted, network),
        fmt::format("--set model.max_position_embeddings={}, or in a launch file "
                    "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1",
                    wanted));
    return;
  }
  // vLLM's check at its start counts the null block, which holds nothing, up to 0.28.
  const bool counts_null = !work.out->engine.profile.needs_usable_blocks;
  const std::int64_t starts =
      engine::longest_request(work.out->memory,
                              work.out->engine.num_gpu_blocks + core::Blocks(counts_null ? 1 : 0),
                              memory_options(work).max_num_batched_tokens,
                              core::Tokens(network))
          .value();
  if (wanted > starts) {
    work.infeasible(
        "engine.max_model_len",
        fmt::format("one request of {} tokens does not fit in the KV cache, which holds {}{}: {}",
                    wanted,
                    fits,
                    doubt_of_refusal(work, core::Tokens(wanted)),
                    memory_sum(work)),
        hint_for(work, core::Tokens(wanted)));
  } else if (wanted > fits) {
    work.out->warnings.push_back(
        {.code = "W-null-block",
         .message = fmt::format("the KV cache holds {} tokens of one request, max_model_len is {}: "
                                "vLLM starts, but can run no request of that length",
                                fits,
                                wanted),
         .hint = hint_for(work, core::Tokens(wanted))});
  }
}

/// Tokens that a step may hand out, of those that it may process.
void scheduled_tokens(Resolution& work, std::int64_t scheduled) {
  constexpr std::string_view kPath = "engine.max_num_scheduled_tokens";
  const std::int64_t tokens = *work.engine().max_num_batched_tokens;
  const std::int64_t longest = *work.engine().max_model_len;
  if (!work.out->engine.profile.has_scheduled_tokens) {
    work.note(kPath,
              fmt::format("does not exist in {} beside max_num_batched_tokens",
                          work.out->engine.profile.name),
              "--engine-version vllm@0.18");
  } else if (scheduled > tokens) {
    work.note(kPath,
              fmt::format(
                  "{} is above max_num_batched_tokens {}: no step has so many", scheduled, tokens));
  } else if (!work.engine().enable_chunked_prefill && scheduled < longest) {
    work.note(kPath,
              fmt::format(
                  "{} is below max_model_len {}: without chunked prefill such a prompt never runs",
                  scheduled,
                  longest));
  }
}

/// The last tokens of a prompt, which several draft modules keep in one chunk, must fit in a step.
void check_reading_ahead(Resolution& work) {
  const std::int64_t ahead = work.out->engine.num_speculative_tokens;
  const auto check = [&](std::string_view field, std::optional<std::int64_t> tokens) {
    if (tokens.value_or(ahead) < ahead) {
      work.note(
          field,
          fmt::format("{} is below num_speculative_tokens {}: the draft modules of {} need the "
                      "last {} tokens of a prompt in one chunk",
                      *tokens,
                      ahead,
                      work.out->network.name,
                      ahead));
    }
  };
  const std::int64_t threshold = work.engine().long_prefill_token_threshold;
  check("engine.max_num_batched_tokens", work.engine().max_num_batched_tokens);
  check("engine.max_num_scheduled_tokens", work.engine().max_num_scheduled_tokens);
  check("engine.long_prefill_token_threshold",
        threshold == 0 ? std::nullopt : std::optional(threshold));
}

void batch_limits(Resolution& work) {
  const auto defaults = limits_of(work);
  const std::int64_t longest = work.engine().max_model_len.value_or(0);
  if (!work.engine().max_num_batched_tokens) {
    const std::int64_t tokens = defaults.max_num_batched_tokens.value();
    work.engine().max_num_batched_tokens =
        work.engine().enable_chunked_prefill ? tokens : std::max(tokens, longest);
  } else if (!work.engine().enable_chunked_prefill &&
             *work.engine().max_num_batched_tokens < longest) {
    work.note("engine.max_num_batched_tokens",
              fmt::format(
                  "{} is below max_model_len {}: without chunked prefill such a prompt never runs",
                  *work.engine().max_num_batched_tokens,
                  longest));
  }
  const std::int64_t tokens = *work.engine().max_num_batched_tokens;
  if (!work.engine().max_num_seqs) {
    work.engine().max_num_seqs = std::min(defaults.max_num_seqs, tokens);
  } else if (*work.engine().max_num_seqs > tokens) {
    work.note(
        "engine.max_num_seqs",
        fmt::format("{} is above max_num_batched_tokens {}: every running request needs a token "
                    "of a step",
                    *work.engine().max_num_seqs,
                    tokens));
  }
  if (const auto scheduled = work.engine().max_num_scheduled_tokens) {
    scheduled_tokens(work, *scheduled);
  }
  const engine::EngineOptions& options = work.out->engine;
  if (!options.draft_levels.empty() &&
      options.draft_levels.back().most_requests < work.engine().max_num_seqs.value_or(0)) {
    work.note("engine.speculative_config",
              fmt::format("num_speculative_tokens_per_batch_size ends at {} requests, expected "
                          "max_num_seqs {} or more",
                          options.draft_levels.back().most_requests,
                          *work.engine().max_num_seqs));
  }
  if (options.drafts_read_ahead) {
    check_reading_ahead(work);
  }
  const std::int64_t slots =
      options.profile.drafts_take_input_slots ? engine::draft_slots(options) : 0;
  if (slots > 0 && tokens <= slots) {
    work.note("engine.max_num_batched_tokens",
              fmt::format("{} leaves no request a token beside the {} that drafting reads, "
                          "expected {} or more",
                          tokens,
                          slots,
                          slots + 1));
  }
}

/// vLLM's check before it captures graphs of networks with states.
void check_states_of_sequences(Resolution& work) {
  const engine::MemoryOptions options = memory_options(work);
  const core::Blocks blocks = work.out->engine.num_gpu_blocks;
  if (engine::has_room_for_states(work.out->memory, blocks, options)) {
    return;
  }
  work.infeasible(
      "engine.max_num_seqs",
      fmt::format(
          "{} exceeds the {} Mamba cache blocks: each sequence that decodes needs one for its "
          "state, and vLLM from 0.20 on refuses to capture CUDA graphs then",
          options.max_num_seqs,
          blocks.value()),
      fmt::format(
          "--max-num-seqs {}, --enforce-eager, or more blocks by --gpu-memory-utilization or "
          "--tensor-parallel-size",
          blocks.value()));
}

/// A setting of windows' blocks where no hit depends on it.
void check_retention(Resolution& work) {
  const engine::EngineOptions& options = work.out->engine;
  const bool has_effect =
      options.enable_prefix_caching && engine::mixes_windows(options.cache_groups);
  if (work.engine().prefix_cache_retention_interval && !has_effect) {
    work.without_effect(
        "engine.prefix_cache_retention_interval",
        options.enable_prefix_caching
            ? fmt::format("{} has no sliding windows beside full attention", work.out->network.name)
            : "prefix caching is off");
  }
}

}  // namespace

bool captures_every_small_size(const EngineSection& engine) {
  return engine.performance_mode == "interactivity";
}

core::Warning prefix_caching_off() {
  return {
      .code = "W-prefix-caching",
      .message =
          "enable_prefix_caching is off: hits of recurrent states are modelled from vLLM 0.27 on "
          "(there where asked for) and without drafts, and prefixes that prompts share are "
          "computed "
          "anew"};
}

void resolve_memory(Resolution& work) {
  work.out->memory = engine::plan_memory(work.out->network, work.out->gpu, memory_options(work));
  divide_blocks(work);
  const auto& plan = work.out->memory;
  if (const auto stated = memory_options(work).kv_cache;
      stated && plan.weights + plan.reserve + *stated > plan.usable) {
    work.infeasible("engine.kv_cache_memory_bytes",
                    fmt::format("{:.2f} GiB beside {:.2f} of weights and {:.2f} of activations, "
                                "graphs and context are more than the {:.2f} GiB of each {}",
                                core::as_gibibytes(*stated),
                                core::as_gibibytes(plan.weights),
                                core::as_gibibytes(plan.reserve),
                                core::as_gibibytes(plan.usable),
                                work.out->gpu.name),
                    "--gpu-memory-utilization divides what there is");
    return;
  }
  if (work.engine().num_gpu_blocks) {
    const std::int64_t blocks = *work.engine().num_gpu_blocks;
    if (work.engine().gpu_memory_utilization && blocks != work.out->memory.num_gpu_blocks.value()) {
      work.note(
          "engine.num_gpu_blocks",
          fmt::format(
              "{} beside gpu_memory_utilization {}, which gives {}: one of them would be ignored",
              blocks,
              *work.engine().gpu_memory_utilization,
              work.out->memory.num_gpu_blocks.value()),
          "take one of them out");
    }
    work.out->engine.num_gpu_blocks = core::Blocks(blocks);
    return;
  }
  work.out->engine.num_gpu_blocks = work.out->memory.num_gpu_blocks;
  work.engine().num_gpu_blocks = work.out->memory.num_gpu_blocks.value();
  work.engine().gpu_memory_utilization = work.out->memory.utilization;
  if (usable_tokens(work) < work.out->memory.block_size.value()) {
    work.infeasible("model",
                    fmt::format("{} does not fit{}: {}",
                                work.out->network.name,
                                doubt_of_refusal(work, work.out->memory.block_size),
                                memory_sum(work)),
                    hint_for(work, std::min(kUsefulLength, work.out->network.max_position)));
  }
}

/// Limits that only newer versions of vLLM have.
void scheduler_limits(Resolution& work) {
  engine::EngineOptions& options = work.out->engine;
  const auto check = [&](std::string_view path, bool exists, std::string_view since) {
    if (work.is_given(path) && !exists) {
      work.note(path,
                fmt::format("does not exist in {}", options.profile.name),
                fmt::format("--engine-version {}", since));
    }
  };
  check("engine.max_num_active_seqs", options.profile.has_active_limit, "vllm@0.31");
  check("engine.long_prefill_token_threshold_adaptive",
        options.profile.has_active_limit,
        "vllm@0.31");
  check("engine.prefill_schedule_interval", options.profile.holds_prefills, "vllm@0.33");
  const EngineSection& engine = work.engine();
  if (engine.max_num_active_seqs.value_or(0) > options.max_num_seqs) {
    work.note("engine.max_num_active_seqs",
              fmt::format("{} is above max_num_seqs {}: the model runner has no more rows",
                          *engine.max_num_active_seqs,
                          options.max_num_seqs));
  }
  options.max_num_active_seqs = engine.max_num_active_seqs.value_or(0);
  options.prefill_schedule_interval = engine.prefill_schedule_interval.value_or(1);
  options.long_prefill_token_threshold_adaptive =
      engine.long_prefill_token_threshold_adaptive.value_or(false);
}

void resolve_limits(Resolution& work) {
  model_length(work);
  batch_limits(work);
  auto& options = work.out->engine;
  options.block_size = work.out->memory.block_size;
  options.max_num_seqs = work.engine().max_num_seqs.value_or(0);
  options.max_num_batched_tokens = core::Tokens(work.engine().max_num_batched_tokens.value_or(0));
  options.max_num_scheduled_tokens =
      core::Tokens(work.engine().max_num_scheduled_tokens.value_or(0));
  options.max_model_len = core::Tokens(work.engine().max_model_len.value_or(0));
  options.long_prefill_token_threshold = core::Tokens(work.engine().long_prefill_token_threshold);
  scheduler_limits(work);
  options.enable_chunked_prefill = work.engine().enable_chunked_prefill;
  options.enable_prefix_caching = work.engine().enable_prefix_caching;
  check_retention(work);
  check_states_of_sequences(work);
  schedule_ahead(work);
  order_of_requests(work);
}

}  // namespace ridgeline::scenario
