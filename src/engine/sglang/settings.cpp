#include "engine/sglang/settings.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "document/parameter.hpp"
#include "engine/engine_plan.hpp"
#include "engine/sglang/options.hpp"

namespace ridgeline::engine::sglang {
namespace {

constexpr double kMaxTokens = 1'000'000'000;
constexpr double kHostGbps = 50;
constexpr std::string_view kArguments = "server_args.py";
constexpr std::string_view kEnvironment = "environ.py";
constexpr std::string_view kOurs = "Ridgeline's own: a server has it from its traffic";

constexpr auto kPolicies =
    std::to_array<std::string_view>({"fcfs", "lpm", "dfs-weight", "lof", "hrrn", "random"});
constexpr auto kEvictions =
    std::to_array<std::string_view>({"lru", "lfu", "fifo", "mru", "filo", "slru", "priority"});
constexpr auto kRetractions = std::to_array<std::string_view>({"length", "priority"});
constexpr auto kAlgorithms =
    std::to_array<std::string_view>({"EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM"});
constexpr auto kStrategies =
    std::to_array<std::string_view>({"auto", "no_buffer", "extra_buffer", "extra_buffer_lazy"});
constexpr auto kWrites =
    std::to_array<std::string_view>({"write_through", "write_through_selective", "write_back"});
constexpr auto kBackups =
    std::to_array<std::string_view>({"auto", "host_pool", "cpu_tensor", "none"});
constexpr auto kBalances =
    std::to_array<std::string_view>({"auto", "round_robin", "total_requests"});

constexpr auto kVersions = std::to_array<EngineVersion>({
    {.name = "0.5.5",
     .since = "0.5.5",
     .summary = "admission without a page of reserve; later prompts stay below max_prefill_tokens; "
                "preemption takes all candidates; any empty iteration resets new_token_ratio; the "
                "token past a request's end is freed"},
    {.name = "0.5.15",
     .since = "0.5.15",
     .summary = "admission keeps a page per request; preemption stops when enough is freed; idle "
                "resets new_token_ratio; the token past a request's end enters the tree; outputs "
                "are clipped to the pool"},
    {.name = "main",
     .since = "0.5.16",
     .summary = "20 July 2026, after 0.5.15: retraction by priority"},
    {.name = "0.5.16", .since = "0.5.16", .summary = "retraction by priority"},
    {.name = "0.5.17",
     .since = "0.5.17",
     .summary = "an eviction frees what is missing; retractions are sorted with speculation too"},
    {.name = "0.5.18", .since = "0.5.18", .summary = "as 0.5.17"},
    {.name = "0.5.19",
     .since = "0.5.19",
     .summary =
         "prefill_decode_interval; mixed chunks with speculation; larger defaults below 35 GiB"},
    {.name = "0.5.20", .since = "0.5.20", .summary = "hrrn; outputs are cached apart from prompts"},
    {.name = "0.5.21", .since = "0.5.21", .summary = "as 0.5.20"},
    {.name = "0.5.22",
     .since = "0.5.22",
     .summary = "no extra step at a length stop; a step is skipped instead of a retraction where "
                "requests are about to end; a full pool stops prefills only beside others; "
                "requests that ignore the end of sequence are expected to generate all; waiting "
                "prefixes are kept fresh"},
    {.name = "0.5.23",
     .since = "0.5.23",
     .summary = "ended requests leave the batch in every iteration"},
});

/// A rule, and the versions that have it: from one on, up to another.
struct Switch {
  bool Rules::* rule;
  std::string_view since;
  std::string_view until = {};  ///< The first version without it.
};
constexpr auto kSwitches = std::to_array<Switch>({
    {.rule = &Rules::bounds_input_with_chunks, .since = "0.5.5", .until = "0.5.15"},
    {.rule = &Rules::resets_ratio_when_empty, .since = "0.5.5", .until = "0.5.15"},
    {.rule = &Rules::reserves_page, .since = "0.5.15"},
    {.rule = &Rules::keeps_delayed_token, .since = "0.5.15"},
    {.rule = &Rules::preempts_as_needed, .since = "0.5.15"},
    {.rule = &Rules::clips_to_pool, .since = "0.5.15"},
    {.rule = &Rules::sizes_by_kernel, .since = "0.5.15"},
    {.rule = &Rules::has_retraction_policy, .since = "main"},
    {.rule = &Rules::evicts_shortfall, .since = "0.5.17"},
    {.rule = &Rules::sorts_with_drafts, .since = "0.5.17"},
    {.rule = &Rules::keeps_states_apart, .since = "0.5.17"},  // The release is assumed.
    {.rule = &Rules::trims_drafts, .since = "0.5.19"},        // The release is assumed.
    {.rule = &Rules::mixes_with_drafts, .since = "0.5.19"},
    {.rule = &Rules::preallocates_pages, .since = "0.5.19"},  // The release is assumed.
    {.rule = &Rules::has_prefill_decode_interval, .since = "0.5.19"},
    {.rule = &Rules::takes_more_below_35, .since = "0.5.19"},
    {.rule = &Rules::has_hrrn, .since = "0.5.20"},
    {.rule = &Rules::parts_outputs, .since = "0.5.20"},
    {.rule = &Rules::skips_last_token, .since = "0.5.22"},
    {.rule = &Rules::blocks_beside_others, .since = "0.5.22"},
    {.rule = &Rules::trusts_ignore_eos, .since = "0.5.22"},
    {.rule = &Rules::tests_pool_once, .since = "0.5.22"},  // The release is assumed.
    {.rule = &Rules::refreshes_waiting, .since = "0.5.22"},
    {.rule = &Rules::graphs_follow_limit, .since = "0.5.22"},
    {.rule = &Rules::filters_each_iteration, .since = "0.5.23"},
    {.rule = &Rules::has_retraction_pool, .since = "0.5.23"},
});

// clang-format off
constexpr auto kTable = std::to_array<document::Parameter>({
    {.name = "mem_fraction_static", .standard = 0.9, .lowest = 0.01, .highest = 0.999,
     .help = "Share of the GPU's memory for weights and KV pool", .source = kArguments,
     .unset = "by GPU, chunks, graphs and parallelism"},
    {.name = "max_total_tokens", .standard = std::int64_t{0}, .lowest = 2, .highest = kMaxTokens,
     .help = "Tokens of the KV pool; at most what the memory holds", .source = kArguments,
     .unset = "what the memory holds"},
    {.name = "max_running_requests", .standard = std::int64_t{0}, .lowest = 1, .highest = 1'000'000,
     .help = "Requests that may decode at once", .source = kArguments,
     .unset = "2048 to 4096 by context, half the pool's tokens at most"},
    {.name = "chunked_prefill_size", .standard = std::int64_t{0}, .lowest = -1, .highest = kMaxTokens,
     .help = "Tokens of the prompts in one step; -1: prompts are not cut", .source = kArguments,
     .unset = "2048 to 16384 by the GPU's memory"},
    {.name = "max_prefill_tokens", .standard = std::int64_t{16'384}, .lowest = 1, .highest = kMaxTokens,
     .help = "Tokens of a prefill step without chunks; the first prompt is always taken", .source = kArguments},
    {.name = "schedule_policy", .standard = std::string_view("fcfs"), .choices = kPolicies,
     .help = "Order of waiting requests", .source = kArguments},
    {.name = "schedule_conservativeness", .standard = 1.0, .lowest = 0, .highest = 100,
     .help = "Factor on the outputs that admission expects of running requests", .source = kArguments},
    {.name = "page_size", .standard = std::int64_t{1}, .lowest = 1, .highest = 1024,
     .help = "Tokens of a page of the KV pool", .source = kArguments,
     .unset = "1, or 64 to 256 by network, kernel and GPU"},
    {.name = "attention_backend", .standard = std::string_view(""),
     .help = "The attention's kernel, by which pages may be larger; its time is that of the default", .source = kArguments,
     .unset = "by network and GPU"},
    {.name = "disable_radix_cache", .standard = false,
     .help = "Keep no KV of ended requests", .source = kArguments},
    {.name = "radix_eviction_policy", .standard = std::string_view("lru"), .choices = kEvictions,
     .help = "Which leaf of the radix tree is evicted first", .source = kArguments},
    {.name = "swa_full_tokens_ratio", .standard = 0.8, .lowest = 0.0001, .highest = 1,
     .help = "Tokens of the pool of sliding windows, to one of the other pool", .source = kArguments,
     .unset = "0.8; 0.1 of DeepSeek-V4"},
    {.name = "mamba_radix_cache_strategy", .standard = std::string_view("auto"), .choices = kStrategies,
     .help = "Which recurrent states the radix tree keeps: copies at ends of prefills, or those on a grid", .source = kArguments},
    {.name = "max_mamba_cache_size", .standard = std::int64_t{0}, .lowest = 1, .highest = 1'000'000,
     .help = "Slots for recurrent states", .source = kArguments, .unset = "by mamba_full_memory_ratio"},
    {.name = "mamba_full_memory_ratio", .standard = 0.9, .lowest = 0.001, .highest = 1000,
     .help = "Memory of recurrent states, to one of the KV pool", .source = kArguments},
    {.name = "mamba_max_states_per_path", .standard = std::int64_t{-1}, .lowest = -1, .highest = 1'000'000,
     .help = "Recurrent states that the radix tree keeps on one path; -1: any number", .source = kArguments},
    {.name = "mamba_track_interval", .standard = std::int64_t{256}, .lowest = 1, .highest = kMaxTokens,
     .help = "Tokens of a running request between two states that the radix tree may get", .source = kArguments},
    {.name = "enable_hierarchical_cache", .standard = false,
     .help = "KV is copied to the host's memory and comes back from there (HiCache)", .source = kArguments},
    {.name = "hicache_ratio", .standard = 2.0, .lowest = 0.001, .highest = 10'000,
     .help = "Tokens of the host's pool, to one of the GPU's", .source = kArguments},
    {.name = "hicache_size", .standard = std::int64_t{0}, .lowest = 0, .highest = 1'000'000,
     .help = "GB of each rank's pool in the host's memory; 0: by hicache_ratio", .source = kArguments},
    {.name = "hicache_write_policy", .standard = std::string_view("write_through"), .choices = kWrites,
     .help = "When KV is copied to the host: at its first insert, at its second, or as it is evicted", .source = kArguments},
    {.name = "hicache_bandwidth", .standard = kHostGbps, .lowest = 0.001, .highest = 100'000,
     .help = "GB/s at which a rank's KV comes back from the host", .source = "Ridgeline's own: as cluster.kv_offload.read_bandwidth"},
    {.name = "num_reserved_decode_tokens", .standard = std::int64_t{512}, .lowest = 0, .highest = kMaxTokens,
     .help = "Tokens that a decode server keeps free for each of its requests", .source = kArguments},
    {.name = "disaggregation_decode_retraction_backup", .standard = std::string_view("auto"), .choices = kBackups,
     .help = "What becomes of the KV of a request that a decode server takes back", .source = kArguments},
    {.name = "enable_mixed_chunk", .standard = false,
     .help = "Running requests join prefill steps with a token each", .source = kArguments},
    {.name = "disable_overlap_schedule", .standard = false,
     .help = "Schedule after the results of the step before, not while it runs", .source = kArguments},
    {.name = "scheduler_recv_interval", .standard = std::int64_t{1}, .lowest = 1, .highest = 1'000'000,
     .help = "Decode steps between two looks for new requests", .source = kArguments},
    {.name = "prefill_max_requests", .standard = std::int64_t{0}, .lowest = 0, .highest = 65536,
     .help = "Requests of one prefill step; 0: no limit", .source = kArguments},
    {.name = "enable_priority_scheduling", .standard = false,
     .help = "Order waiting requests by priority; better ones may take the place of running ones", .source = kArguments},
    {.name = "schedule_low_priority_values_first", .standard = false,
     .help = "Lower priority values are better", .source = kArguments},
    {.name = "priority_scheduling_preemption_threshold", .standard = std::int64_t{10}, .lowest = 0, .highest = 1'000'000,
     .help = "By how much a priority must be better to preempt", .source = kArguments},
    {.name = "disable_priority_preemption", .standard = false,
     .help = "Priorities order the queue alone", .source = kArguments},
    {.name = "retraction_policy", .standard = std::string_view("length"), .choices = kRetractions,
     .help = "Which running request goes back when the pool is full", .source = kArguments},
    {.name = "prefill_decode_interval", .standard = std::int64_t{0}, .lowest = 0, .highest = 1'000'000,
     .help = "Iterations after a prefill step that try no other", .source = kArguments},
    {.name = "prefill_decode_interval_min_bs", .standard = std::int64_t{0}, .lowest = 0, .highest = 1'000'000,
     .help = "With fewer running requests prefills do not wait for that interval", .source = kArguments},
    {.name = "min_free_slots_delay", .standard = std::int64_t{0}, .lowest = 0, .highest = 1'000'000,
     .help = "Seats that must be free beside running requests before new prompts start; 0 or 1: any", .source = kArguments},
    {.name = "speculative_algorithm", .standard = std::string_view("EAGLE"), .choices = kAlgorithms,
     .help = "What drafts tokens that the next step verifies", .source = kArguments, .unset = "none"},
    {.name = "speculative_draft_model_path", .standard = std::string_view(""),
     .help = "The drafting network: a name of the catalogue, or a path", .source = kArguments,
     .unset = "the network's own layers that predict further"},
    {.name = "speculative_num_steps", .standard = std::int64_t{0}, .lowest = 1, .highest = 32,
     .help = "Drafts that can be accepted one behind another", .source = kArguments,
     .unset = "3; 5 of llama"},
    {.name = "speculative_eagle_topk", .standard = std::int64_t{0}, .lowest = 1, .highest = 32,
     .help = "Branches of the tree of drafts", .source = kArguments,
     .unset = "1; 4 of llama without speculative_num_steps"},
    {.name = "speculative_num_draft_tokens", .standard = std::int64_t{0}, .lowest = 2, .highest = 65,
     .help = "Tokens that a step verifies of each request", .source = kArguments,
     .unset = "speculative_num_steps and 1, without branches"},
    {.name = "speculative_acceptance", .standard = 0.0, .lowest = 0, .highest = 1,
     .help = "Probability that a draft is accepted, if those before it were", .source = kOurs,
     .unset = "by speculative_config or simulate_acc_len"},
    {.name = "simulate_acc_len", .standard = 1.0, .lowest = 1, .highest = 33,
     .help = "SGLANG_SIMULATE_ACC_LEN: mean number of tokens of a step with drafts", .source = kEnvironment,
     .unset = "by the acceptance"},
    {.name = "enable_dp_attention", .standard = false,
     .help = "The data_parallel_size ranks of the attention share the tensor_parallel_size GPUs", .source = kArguments},
    {.name = "load_balance_method", .standard = std::string_view("auto"), .choices = kBalances,
     .help = "How data-parallel ranks get requests", .source = kArguments},
    {.name = "cuda_graph_max_bs", .standard = std::int64_t{0}, .lowest = 1, .highest = 4096,
     .help = "Largest decode batch with a CUDA graph", .source = kArguments,
     .unset = "8 to 512 by the GPU's memory"},
    {.name = "init_new_token_ratio", .standard = 0.7, .lowest = 0, .highest = 1,
     .help = "SGLANG_INIT_NEW_TOKEN_RATIO: share of max_new_tokens that admission expects at first", .source = kEnvironment},
    {.name = "min_new_token_ratio_factor", .standard = 0.14, .lowest = 0, .highest = 1,
     .help = "SGLANG_MIN_NEW_TOKEN_RATIO_FACTOR: the least share, over the first", .source = kEnvironment},
    {.name = "new_token_ratio_decay_steps", .standard = std::int64_t{600}, .lowest = 1, .highest = 1'000'000,
     .help = "SGLANG_NEW_TOKEN_RATIO_DECAY_STEPS: decode steps from the first to the least", .source = kEnvironment},
    {.name = "retract_decode_steps", .standard = std::int64_t{20}, .lowest = 1, .highest = 10'000,
     .help = "SGLANG_RETRACT_DECODE_STEPS: steps for which a retraction makes room", .source = kEnvironment},
    {.name = "clip_max_new_tokens_estimation", .standard = std::int64_t{4096}, .lowest = 1, .highest = kMaxTokens,
     .help = "SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION: outputs above that admission does not expect", .source = kEnvironment},
    {.name = "in_batch_prefix_caching_check_threshold", .standard = std::int64_t{32}, .lowest = -1, .highest = kMaxTokens,
     .help = "lpm: cached tokens up to which prompts are compared with others that wait", .source = kEnvironment},
    {.name = "in_batch_prefix_caching_deprioritize_threshold", .standard = std::int64_t{32}, .lowest = 0, .highest = kMaxTokens,
     .help = "lpm: tokens in common from which the later of them comes last", .source = kEnvironment},
});
// clang-format on

constexpr auto kCounterparts = std::to_array<Counterpart>({
    {.own = "max_running_requests", .vllm = "max_num_seqs"},
    {.own = "chunked_prefill_size", .vllm = "max_num_batched_tokens"},
    {.own = "page_size", .vllm = "block_size"},
    {.own = "max_total_tokens", .vllm = "num_gpu_blocks"},
    {.own = "mem_fraction_static", .vllm = "gpu_memory_utilization"},
    {.own = "disable_radix_cache", .vllm = "enable_prefix_caching"},
    {.own = "chunked_prefill_size", .vllm = "enable_chunked_prefill"},
    {.own = "disable_overlap_schedule", .vllm = "async_scheduling"},
    {.own = "chunked_prefill_size", .vllm = "long_prefill_token_threshold"},
    {.own = "schedule_policy", .vllm = "scheduling_policy"},
});

/// observability/metrics_collector.py.
constexpr double kSeconds = 1e-3;  // Seconds of a millisecond.
constexpr auto kMetrics = std::to_array<MetricName>({
    {"sglang:prompt_tokens_total", "total_input_tokens"},
    {"sglang:generation_tokens_total", "total_output_tokens"},
    {"sglang:cached_tokens_total", "total_cached_tokens"},
    {"sglang:num_requests_total", "completed"},
    {"sglang:num_aborted_requests_total", "failed.aborted"},
    {"sglang:num_retracted_requests_total", "preemptions"},
    {"sglang:cache_hit_rate", "kv_cache.prefix_hit_rate"},
    {"sglang:token_usage", "kv_cache.mean"},
    {"sglang:page_size", "kv_cache.block_size"},
    {"sglang:gen_throughput", "output_throughput"},
    {"sglang:queue_time_seconds", "queue_time_ms.mean", kSeconds},
    {"sglang:time_to_first_token_seconds", "server.ttft_ms.mean", kSeconds},
    {"sglang:inter_token_latency_seconds", "server.itl_ms.mean", kSeconds},
    {"sglang:e2e_request_latency_seconds", "server.e2e_ms.mean", kSeconds},
});

/// The place of a word among the choices, which stand in the order of the enumeration.
template <class Choices>
std::size_t place_of(const Choices& choices, std::string_view word) {
  const auto found = std::ranges::find(choices, word);
  RIDGELINE_CHECK(found != choices.end(), word);
  return static_cast<std::size_t>(found - choices.begin());
}

std::size_t place_of_version(std::string_view name) {
  const auto found = std::ranges::find(kVersions, name, &EngineVersion::name);
  RIDGELINE_CHECK(found != kVersions.end(), name);
  return static_cast<std::size_t>(found - kVersions.begin());
}

}  // namespace

const OwnSettings kSettings = {.versions = kVersions,
                               .settings = kTable,
                               .counterparts = kCounterparts,
                               .plan = plan,
                               .attention_ranks = attention_ranks,
                               .rank_router = rank_router,
                               .metrics = kMetrics,
                               .drafts = drafts,
                               .has_legs = true};

core::Result<AttentionRanks> attention_ranks(const document::ParameterValues& settings,
                                             std::int64_t tensor_parallel_size,
                                             std::int64_t data_parallel_size) {
  if (!settings.truth("enable_dp_attention")) {
    return AttentionRanks{.ranks = data_parallel_size, .gpus_each = tensor_parallel_size};
  }
  if (tensor_parallel_size % data_parallel_size != 0) {
    return core::fail(
        core::Error{.field = "engine.data_parallel_size",
                    .message = fmt::format("with enable_dp_attention {} ranks do not divide "
                                           "tensor_parallel_size {}, as SGLang's server asks for",
                                           data_parallel_size,
                                           tensor_parallel_size)});
  }
  return AttentionRanks{.ranks = data_parallel_size,
                        .gpus_each = tensor_parallel_size / data_parallel_size};
}

/// The data-parallel controller deals requests in turn, unless it is to count them.
std::string_view rank_router(const document::ParameterValues& settings) {
  return settings.word("load_balance_method") == "total_requests" ? "sglang-dp" : "round-robin";
}

Rules rules_of(std::string_view version) {
  const std::size_t place = place_of_version(version);
  Rules rules;
  for (const Switch& one : kSwitches) {
    rules.*one.rule = place >= place_of_version(one.since) &&
                      (one.until.empty() || place < place_of_version(one.until));
  }
  return rules;
}

SchedulePolicy schedule_policy_of(std::string_view word) {
  return static_cast<SchedulePolicy>(place_of(kPolicies, word));
}

EvictionPolicy eviction_policy_of(std::string_view word) {
  return static_cast<EvictionPolicy>(place_of(kEvictions, word));
}

}  // namespace ridgeline::engine::sglang
