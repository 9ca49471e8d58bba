// How SGLang's server divides a GPU's memory and fills its defaults (server_args.py,
// mem_cache/kv_cache_configurator.py).
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/parameter.hpp"
#include "engine/capacity.hpp"
#include "engine/engine_plan.hpp"
#include "engine/options.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/pools.hpp"
#include "engine/sglang/settings.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "model/weight_format.hpp"

namespace ridgeline::engine::sglang {
namespace {

core::Error refusal(std::string_view setting, std::string message, std::string hint = {}) {
  return {.field = fmt::format("engine.{}", setting),
          .message = std::move(message),
          .hint = std::move(hint)};
}

/// Decode batches with a CUDA graph, up to a size.
std::vector<std::int64_t> graph_sizes(std::int64_t most) {
  constexpr std::int64_t kFine = 8;
  constexpr std::int64_t kCoarse = 16;
  constexpr std::int64_t kCoarseFrom = 256;
  constexpr std::int64_t kWide = 32;
  constexpr std::int64_t kWideFrom = 512;
  std::vector<std::int64_t> sizes;
  for (const std::int64_t small : {1, 2, 4}) {
    if (small <= most) {
      sizes.push_back(small);
    }
  }
  for (std::int64_t size = kFine; size <= most;
       size += size >= kWideFrom ? kWide : (size >= kCoarseFrom ? kCoarse : kFine)) {
    sizes.push_back(size);
  }
  if (sizes.back() != most) {
    sizes.push_back(most);
  }
  return sizes;
}

/// What is not modelled is refused by its name.
core::Errors refusals(const PlanInputs& in) {
  core::Errors errors;
  const auto refuse = [&](bool refused, std::string_view setting, std::string_view what) {
    if (refused) {
      errors.push_back(refusal(setting, fmt::format("{} is not modelled for sglang yet", what)));
    }
  };
  const model::Sharding& sharding = in.sharding;
  refuse(sharding.pipeline_parallel_size > 1, "pipeline_parallel_size", "a pipeline");
  const bool has_ranks = in.settings.truth("enable_dp_attention");
  refuse(sharding.data_parallel_size > 1 && !has_ranks,
         "data_parallel_size",
         "data parallelism without enable_dp_attention");
  refuse(has_ranks && !model::has_experts(in.network),
         "enable_dp_attention",
         "attention in data parallel of a network without experts");
  refuse(sharding.prefill_context_parallel_size > 1,
         "prefill_context_parallel_size",
         "context parallelism");
  const bool drafts = in.drafts != nullptr;
  refuse(drafts && in.version == kSettings.versions.front().name,
         "speculative_config",
         "speculation before 0.5.15");
  return errors;
}

/// Settings that need others to have an effect.
core::Errors without_need(const PlanInputs& in, const Options& options) {
  const bool by_priority = options.enable_priority_scheduling;
  const Rules& rules = options.rules;
  constexpr std::string_view kAlgorithm = "speculative_algorithm";
  constexpr std::string_view kHostCache = "enable_hierarchical_cache";
  const bool drafts_by_name = in.settings.stated(kAlgorithm) != nullptr;
  const Need needs[] = {
      {"schedule_low_priority_values_first", "enable_priority_scheduling", by_priority},
      {"priority_scheduling_preemption_threshold", "enable_priority_scheduling", by_priority},
      {"disable_priority_preemption", "enable_priority_scheduling", by_priority},
      {"retraction_policy", "enable_priority_scheduling", by_priority},
      {"retraction_policy", "sglang@0.5.16", rules.has_retraction_policy || !by_priority},
      {"schedule_policy",
       "sglang@0.5.20",
       rules.has_hrrn || options.schedule_policy != SchedulePolicy::kHrrn},
      {"prefill_decode_interval", "sglang@0.5.19", rules.has_prefill_decode_interval},
      {"prefill_decode_interval_min_bs",
       "prefill_decode_interval above 0, and sglang@0.5.23",
       options.prefill_decode_interval > 0 && rules.filters_each_iteration},
      {"enable_dp_attention", "data_parallel_size above 1", in.sharding.data_parallel_size > 1},
      {"load_balance_method", "enable_dp_attention", in.settings.truth("enable_dp_attention")},
      {"radix_eviction_policy", "the radix cache", !options.disable_radix_cache},
      {"enable_hierarchical_cache", "the radix cache", !options.disable_radix_cache},
      {"hicache_ratio", kHostCache, in.settings.truth(kHostCache)},
      {"hicache_size", kHostCache, in.settings.truth(kHostCache)},
      {"hicache_write_policy", kHostCache, in.settings.truth(kHostCache)},
      {"hicache_bandwidth", kHostCache, in.settings.truth(kHostCache)},
      {"enable_mixed_chunk", "chunked_prefill_size above 0", options.chunked_prefill_size > 0},
      {"speculative_draft_model_path", kAlgorithm, drafts_by_name},
      {"speculative_num_steps", kAlgorithm, drafts_by_name},
      {"speculative_eagle_topk", kAlgorithm, drafts_by_name},
      {"speculative_num_draft_tokens", kAlgorithm, drafts_by_name},
      {"speculative_acceptance", kAlgorithm, drafts_by_name},
      {"simulate_acc_len", kAlgorithm, drafts_by_name}};
  return without_effect(in, kSettings, needs);
}

/// What SGLang's server itself refuses (ServerArgs.check_server_args).
core::Errors illegal(const PlanInputs& in, const Options& options) {
  core::Errors errors;
  const std::int64_t page = options.page_size;
  const std::int64_t chunk = whole_chunk(in);  // It is cut for the ranks later.
  if (chunk > 0 && chunk % page != 0) {
    errors.push_back(refusal(
        "chunked_prefill_size",
        fmt::format("{} is no multiple of page_size {}, as SGLang's server asks for", chunk, page),
        fmt::format("{}", std::max(chunk / page * page, page))));
  }
  for (core::Error& error : without_need(in, options)) {
    errors.push_back(std::move(error));
  }
  if (in.settings.stated("max_running_requests") != nullptr &&
      in.settings.integer("max_running_requests") < ranks_of(in)) {
    errors.push_back(refusal("max_running_requests",
                             fmt::format("{} leaves none to each of {} ranks",
                                         in.settings.integer("max_running_requests"),
                                         ranks_of(in)),
                             fmt::format("{}", ranks_of(in))));
  }
  const bool by_priority = options.enable_priority_scheduling;
  const bool sorts_by_priority = options.schedule_policy == SchedulePolicy::kFcfs ||
                                 options.schedule_policy == SchedulePolicy::kLof;
  if (by_priority && !sorts_by_priority) {
    errors.push_back(refusal("schedule_policy",
                             "with enable_priority_scheduling SGLang's server takes fcfs or lof",
                             "fcfs"));
  }
  return errors;
}

/// By itself a server of 0.5.23 takes a pool of fixed size for caches that are KV alone.
RetractionBackup backup_of(const PlanInputs& in, const Options& options) {
  const std::string word = in.settings.word("disaggregation_decode_retraction_backup");
  const bool takes_pool = options.rules.has_retraction_pool && !options.preempts() &&
                          !has_states(in) && !has_compressed_cache(in);
  return word == "none"                                          ? RetractionBackup::kNone
         : word == "host_pool" || (word == "auto" && takes_pool) ? RetractionBackup::kHostPool
                                                                 : RetractionBackup::kCpuTensor;
}

Options options_of(const PlanInputs& in) {
  const document::ParameterValues& given = in.settings;
  Options options;
  options.rules = rules_of(in.version);
  options.page_size = page_of(in);
  options.context_length = in.max_model_len.value();
  options.max_prefill_tokens = given.integer("max_prefill_tokens");
  options.chunked_prefill_size = std::max<std::int64_t>(whole_chunk(in), 0) / ranks_of(in);
  if (options.chunked_prefill_size > 0) {  // Less than a page would be no chunk at all.
    options.chunked_prefill_size = std::max(options.chunked_prefill_size, options.page_size);
  }
  options.schedule_conservativeness =
      given.number("schedule_conservativeness") * (ranks_of(in) > 1 ? kOfRanks : 1.0);
  options.disable_radix_cache = given.truth("disable_radix_cache");
  options.radix_eviction_policy = eviction_policy_of(given.word("radix_eviction_policy"));
  if (in.drafts != nullptr) {
    options.speculation = {
        .steps = in.drafts->steps,
        .topk = in.drafts->branches,
        .draft_tokens = in.drafts->verified,
        .keys_pairs = in.drafts->method == "mtp" || in.drafts->method.starts_with("eagle"),
        .has_draft_kv = in.drafts->method != "ngram"};
  }
  // SGLang's server turns mixed chunks off by itself where drafts do not take them.
  options.enable_mixed_chunk = given.truth("enable_mixed_chunk") &&
                               (!options.speculation.is_on() || (options.rules.mixes_with_drafts &&
                                                                 options.speculation.keys_pairs));
  options.overlap = !given.truth("disable_overlap_schedule");
  take_state_strategy(in, options);
  options.scheduler_recv_interval = given.integer("scheduler_recv_interval");
  options.prefill_max_requests = given.integer("prefill_max_requests");
  options.enable_priority_scheduling = given.truth("enable_priority_scheduling");
  options.schedule_low_priority_values_first = given.truth("schedule_low_priority_values_first");
  options.priority_scheduling_preemption_threshold =
      given.integer("priority_scheduling_preemption_threshold");
  options.disable_priority_preemption = given.truth("disable_priority_preemption");
  options.retraction_policy = given.word("retraction_policy") == "priority"
                                  ? RetractionPolicy::kPriority
                                  : RetractionPolicy::kLength;
  options.prefill_decode_interval = given.integer("prefill_decode_interval");
  options.prefill_decode_interval_min_bs = given.integer("prefill_decode_interval_min_bs");
  options.min_free_slots_delay = given.integer("min_free_slots_delay");
  options.num_reserved_decode_tokens = given.integer("num_reserved_decode_tokens");
  options.retraction_backup = backup_of(in, options);
  options.init_new_token_ratio = given.number("init_new_token_ratio");
  options.min_new_token_ratio_factor = given.number("min_new_token_ratio_factor");
  options.new_token_ratio_decay_steps = given.integer("new_token_ratio_decay_steps");
  options.retract_decode_steps = given.integer("retract_decode_steps");
  options.clip_max_new_tokens = given.integer("clip_max_new_tokens_estimation");
  options.in_batch_check_threshold = given.integer("in_batch_prefix_caching_check_threshold");
  options.in_batch_deprioritize_threshold =
      given.integer("in_batch_prefix_caching_deprioritize_threshold");
  const std::string policy = given.word("schedule_policy");
  options.schedule_policy =
      policy == "routing-key" ? SchedulePolicy::kFcfs : schedule_policy_of(policy);
  return options;
}

std::int64_t default_running(const Options& options) {
  constexpr std::int64_t kOverContext = 512;
  constexpr std::int64_t kLeast = 2048;
  constexpr std::int64_t kMost = 4096;
  const std::int64_t tokens = options.max_total_num_tokens;
  const std::int64_t wanted = tokens * kOverContext / options.context_length;
  return std::max<std::int64_t>(std::min(std::clamp(wanted, kLeast, kMost), tokens / 2), 1);
}

void describe_memory(const PlanInputs& in,
                     const Pool& pool,
                     const Options& options,
                     EnginePlan& plan) {
  plan.memory.usable = in.gpu.usable_memory;
  plan.memory.utilization = pool.fraction;
  plan.memory.weights = pool.weights;
  plan.memory.kv_cache = pool.bytes;
  plan.memory.layouts = {{.kind = CacheLayout::Kind::kWhole,
                          .layers = in.network.num_layers(),
                          .window = {},
                          .groups = 1}};
  plan.memory.block_size = core::Tokens(options.page_size);
  plan.memory.block = core::Bytes(pool.per_token * static_cast<double>(options.page_size));
  plan.memory.num_gpu_blocks = core::Blocks(options.max_total_num_tokens / options.page_size + 1);
  const core::Bytes taken(pool.per_token * static_cast<double>(options.max_total_num_tokens));
  plan.lines = {{.key = "usable", .label = "usable", .bytes = in.gpu.usable_memory},
                {.key = "free",
                 .label = "free before loading",
                 .bytes = pool.free,
                 .note = "without CUDA libraries"},
                {.key = "static",
                 .label = "static",
                 .bytes = pool.free * pool.fraction,
                 .note = fmt::format("mem_fraction_static {}", pool.fraction)},
                {.key = "weights", .label = "- weights", .bytes = pool.weights},
                {.key = "kv_cache", .label = "= room for the KV pool", .bytes = pool.bytes},
                {.key = "kv_pool",
                 .label = "KV pool",
                 .bytes = taken,
                 .note = fmt::format("max_total_num_tokens {}", options.max_total_num_tokens)},
                {.key = "rest",
                 .label = "left to activations",
                 .bytes = pool.free - pool.weights - taken,
                 .note = "and CUDA graphs"}};
}

document::NamedValue derived(std::string_view name, std::int64_t value) {
  return {.name = std::string(name), .value = document::Node::integer(value, {})};
}

core::Error does_not_fit(const PlanInputs& in, const Pool& pool) {
  return {.code = core::ErrorCode::kInfeasible,
          .field = "model",
          .message = fmt::format("{} does not fit: {:.2f} GiB free on each {} x {} "
                                 "mem_fraction_static - {:.2f} weights = "
                                 "{:.2f} GiB for the KV pool",
                                 in.network.name,
                                 core::as_gibibytes(pool.free),
                                 in.gpu.name,
                                 pool.fraction,
                                 core::as_gibibytes(pool.weights),
                                 core::as_gibibytes(pool.bytes)),
          .hint = "a larger --mem-fraction-static or --tensor-parallel-size"};
}

/// A setting as it is stated, else as it is derived.
std::int64_t stated_or(const PlanInputs& in, std::string_view name, std::int64_t derived) {
  return in.settings.stated(name) != nullptr ? in.settings.integer(name) : derived;
}

/// What the loop and others read of an engine.
void fill_engine_options(const Options& options, EnginePlan& plan) {
  plan.options.max_num_seqs = options.max_running_requests;
  plan.options.max_num_batched_tokens = core::Tokens(
      options.chunked_prefill_size > 0 ? options.chunked_prefill_size : options.max_prefill_tokens);
  plan.options.block_size = core::Tokens(options.page_size);
  plan.options.num_gpu_blocks = plan.memory.num_gpu_blocks;
  plan.options.enable_prefix_caching = !options.disable_radix_cache;
  plan.options.async_scheduling = options.overlap;
  plan.options.own = std::make_shared<const Options>(options);
}

}  // namespace

core::Result<EnginePlan> plan(const PlanInputs& in) {
  core::Errors errors = refusals(in);
  Options options = options_of(in);
  for (core::Error& error : illegal(in, options)) {
    errors.push_back(std::move(error));
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  const std::int64_t ranks = ranks_of(in);
  const std::int64_t graphs = largest_graph(in, options.rules);
  const double fraction = in.settings.stated("mem_fraction_static") != nullptr
                              ? in.settings.number("mem_fraction_static")
                              : default_fraction(in, options, graphs);
  const Pool pool = pool_of(in, options, fraction);
  const std::int64_t wanted = stated_or(in, "max_total_tokens", pool.holds);
  options.max_total_num_tokens =
      std::min(wanted, pool.holds) / options.page_size * options.page_size;
  if (options.max_total_num_tokens <= options.page_size) {
    return core::fail(does_not_fit(in, pool));
  }
  take_host_tier(in, pool, options);
  EnginePlan plan;
  if (wanted > pool.holds) {
    plan.warnings.push_back(
        {.code = "W-max-total-tokens",
         .message =
             fmt::format("max_total_tokens {} is more than the memory holds: SGLang takes {}",
                         wanted,
                         options.max_total_num_tokens),
         .hint = {}});
  }
  const std::int64_t running = default_limit(in).value_or(default_running(options) * ranks);
  options.max_running_requests =
      std::max<std::int64_t>(stated_or(in, "max_running_requests", running) / ranks, 1);
  options.max_running_requests =
      std::clamp<std::int64_t>(options.max_total_num_tokens / 2, 1, options.max_running_requests);
  if (pool.states) {
    options.max_running_requests = std::clamp<std::int64_t>(
        *pool.states / slots_per_request(options), 1, options.max_running_requests);
    options.state_slots = options.disable_radix_cache ? 0 : *pool.states;
  }
  describe_memory(in, pool, options, plan);
  plan.derived = {{.name = "mem_fraction_static", .value = document::Node::real(fraction, {})},
                  derived("max_total_tokens", options.max_total_num_tokens),
                  derived("max_running_requests", options.max_running_requests * ranks),
                  derived("chunked_prefill_size", whole_chunk(in)),
                  derived("page_size", options.page_size),
                  derived("cuda_graph_max_bs", graphs)};
  if (in.settings.stated("speculative_algorithm") != nullptr) {
    plan.derived.push_back(derived("speculative_num_steps", options.speculation.steps));
    plan.derived.push_back(derived("speculative_eagle_topk", options.speculation.topk));
    plan.derived.push_back(
        derived("speculative_num_draft_tokens", options.speculation.draft_tokens));
  }
  plan.cuda_graph_sizes = graph_sizes(graphs);
  fill_engine_options(options, plan);
  return plan;
}

}  // namespace ridgeline::engine::sglang
