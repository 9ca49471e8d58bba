#include "engine/tensorrt_llm/options.hpp"

#include <array>
#include <cstdint>
#include <string_view>

#include "core/result.hpp"
#include "document/parameter.hpp"
#include "engine/engine_plan.hpp"

namespace ridgeline::engine::tensorrt_llm {
namespace {

constexpr double kMaxTokens = 1'000'000'000;
constexpr std::string_view kArguments = "llmapi/llm_args.py";
constexpr std::string_view kServe = "commands/serve.py";

constexpr auto kCapacityPolicies =
    std::to_array<std::string_view>({"GUARANTEED_NO_EVICT", "MAX_UTILIZATION", "STATIC_BATCH"});
constexpr auto kChunkingPolicies =
    std::to_array<std::string_view>({"FIRST_COME_FIRST_SERVED", "EQUAL_PROGRESS"});

constexpr auto kVersions = std::to_array<EngineVersion>({
    {.name = "1.2",
     .since = "1.0",
     .summary = "PyTorch backend: contexts and generations in one step; blocks are promised to the "
                "last token; graphs only of listed batch sizes"},
});

// clang-format off
constexpr auto kTable = std::to_array<document::Parameter>({
    {.name = "max_batch_size", .standard = std::int64_t{2048}, .lowest = 1, .highest = 65536,
     .help = "Requests that may be active at once", .source = kServe},
    {.name = "max_num_tokens", .standard = std::int64_t{8192}, .lowest = 1, .highest = kMaxTokens,
     .help = "Tokens of one step; without chunks also the longest prompt", .source = kServe},
    {.name = "capacity_scheduler_policy", .standard = std::string_view("GUARANTEED_NO_EVICT"), .choices = kCapacityPolicies,
     .help = "Which active requests have KV blocks for the next step", .source = kArguments},
    {.name = "context_chunking_policy", .standard = std::string_view("FIRST_COME_FIRST_SERVED"), .choices = kChunkingPolicies,
     .help = "How prompts that do not all fit share max_num_tokens", .source = kArguments},
    {.name = "disable_overlap_scheduler", .standard = false,
     .help = "Schedule after the results of the step before, not while it runs", .source = kArguments},
    {.name = "tokens_per_block", .standard = std::int64_t{32}, .lowest = 1, .highest = 1024,
     .help = "Tokens of a KV block", .source = kArguments},
    {.name = "free_gpu_memory_fraction", .standard = 0.9, .lowest = 0.01, .highest = 1.0,
     .help = "Share for the KV cache of what is free after a profiling run", .source = kArguments},
    {.name = "max_tokens", .standard = std::int64_t{0}, .lowest = 32, .highest = kMaxTokens,
     .help = "Tokens of the KV cache; at most what the memory holds", .source = kArguments,
     .unset = "what the memory holds"},
    {.name = "enable_block_reuse", .standard = true,
     .help = "Keep KV blocks of ended requests for prompts that begin alike", .source = kArguments},
    {.name = "enable_partial_reuse", .standard = true,
     .help = "Find a block by its first tokens, too", .source = kArguments},
    {.name = "copy_on_partial_reuse", .standard = true,
     .help = "Copy such a block where it is in use", .source = kArguments},
    {.name = "batch_wait_timeout_iters", .standard = std::int64_t{0}, .lowest = 0, .highest = 1'000'000,
     .help = "Iterations for which prompts wait beside generations", .source = kArguments},
    {.name = "batch_wait_max_tokens_ratio", .standard = 0.0, .lowest = 0, .highest = 1,
     .help = "Share of max_num_tokens from which they wait no longer", .source = kArguments},
    {.name = "enable_attention_dp", .standard = false,
     .help = "All tensor_parallel_size GPUs are data-parallel ranks of the attention", .source = kArguments},
    {.name = "attention_dp_enable_balance", .standard = false,
     .help = "attention_dp_config.enable_balance: prompts wait until every rank has one", .source = kArguments},
    {.name = "attention_dp_timeout_iters", .standard = std::int64_t{50}, .lowest = 0, .highest = 1'000'000,
     .help = "attention_dp_config.timeout_iters: iterations for which they wait at most", .source = kArguments},
    {.name = "attention_dp_batching_wait_iters", .standard = std::int64_t{10}, .lowest = 0, .highest = 1'000'000,
     .help = "attention_dp_config.batching_wait_iters: iterations for which they then wait for more", .source = kArguments},
    {.name = "cuda_graph_max_batch_size", .standard = std::int64_t{128}, .lowest = 1, .highest = 4096,
     .help = "cuda_graph_config.max_batch_size: largest batch with a CUDA graph", .source = kArguments},
    {.name = "cuda_graph_enable_padding", .standard = false,
     .help = "cuda_graph_config.enable_padding: pad batches to the next size that has a graph", .source = kArguments},
});
// clang-format on

constexpr auto kCounterparts = std::to_array<Counterpart>({
    {.own = "max_batch_size", .vllm = "max_num_seqs"},
    {.own = "max_num_tokens", .vllm = "max_num_batched_tokens"},
    {.own = "tokens_per_block", .vllm = "block_size"},
    {.own = "free_gpu_memory_fraction", .vllm = "gpu_memory_utilization"},
    {.own = "max_tokens", .vllm = "num_gpu_blocks"},
    {.own = "enable_block_reuse", .vllm = "enable_prefix_caching"},
    {.own = "disable_overlap_scheduler", .vllm = "async_scheduling"},
    {.own = "capacity_scheduler_policy", .vllm = "scheduling_policy"},
    // One key for both: the scenario's own option serves either.
    {.own = kChunkedPrefill, .vllm = kChunkedPrefill},
});

/// metrics/collector.py.
constexpr double kSeconds = 1e-3;  // Seconds of a millisecond.
constexpr auto kMetrics = std::to_array<MetricName>({
    {"trtllm_prompt_tokens_total", "total_input_tokens"},
    {"trtllm_generation_tokens_total", "total_output_tokens"},
    {"trtllm_request_success_total", "completed"},
    {"trtllm_num_paused_requests", "preemptions"},
    {"trtllm_kv_cache_hit_rate", "kv_cache.prefix_hit_rate"},
    {"trtllm_kv_cache_utilization", "kv_cache.mean"},
    {"trtllm_kv_cache_tokens_per_block", "kv_cache.block_size"},
    {"trtllm_request_queue_time_seconds", "queue_time_ms.mean", kSeconds},
    {"trtllm_time_to_first_token_seconds", "server.ttft_ms.mean", kSeconds},
    {"trtllm_time_per_output_token_seconds", "server.tpot_ms.mean", kSeconds},
    {"trtllm_e2e_request_latency_seconds", "server.e2e_ms.mean", kSeconds},
});

}  // namespace

const OwnSettings kSettings{.versions = kVersions,
                            .settings = kTable,
                            .counterparts = kCounterparts,
                            .plan = plan,
                            .attention_ranks = attention_ranks,
                            .rank_router = rank_router,
                            .metrics = kMetrics,
                            .has_legs = true};

core::Result<AttentionRanks> attention_ranks(const document::ParameterValues& settings,
                                             std::int64_t tensor_parallel_size,
                                             std::int64_t data_parallel_size) {
  if (!settings.truth("enable_attention_dp")) {
    return AttentionRanks{.ranks = data_parallel_size, .gpus_each = tensor_parallel_size};
  }
  if (data_parallel_size > 1) {
    return core::fail(
        core::Error{.field = "engine.data_parallel_size",
                    .message = "with enable_attention_dp all tensor_parallel_size GPUs are ranks",
                    .hint = "leave it out"});
  }
  return AttentionRanks{.ranks = tensor_parallel_size, .gpus_each = 1};
}

/// Its router (adp_router.py) goes by load; its rules among equals were not read.
std::string_view rank_router(const document::ParameterValues& settings) {
  static_cast<void>(settings);
  return "least-request";
}

}  // namespace ridgeline::engine::tensorrt_llm
