#include "scenario/options.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/time.hpp"
#include "document/document.hpp"
#include "document/parameter.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/length.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/sections.hpp"
#include "scenario/speculation.hpp"
#include "workload/limits.hpp"
#include "workload/options.hpp"

namespace ridgeline::scenario {

namespace {

constexpr std::array<std::string_view, 2> kOnOff = {"on", "off"};
constexpr std::array<std::string_view, 2> kPercentiles = {"exact", "sketch"};
constexpr std::array<std::string_view, 2> kLookups = {"floor", "interp"};
constexpr std::array<std::string_view, 4> kDtypes = {"auto", "bfloat16", "float16", "half"};
constexpr std::array<std::string_view, 10> kQuantizations = {"fp8",
                                                             "awq",
                                                             "awq_marlin",
                                                             "gptq",
                                                             "gptq_marlin",
                                                             "compressed-tensors",
                                                             "modelopt",
                                                             "modelopt_fp4",
                                                             "modelopt_mixed",
                                                             "mxfp4"};
constexpr std::array<std::string_view, 5> kKvCacheDtypes = {
    "auto", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2"};
constexpr std::array<std::string_view, 5> kCudagraphModes = {
    "auto", "FULL_AND_PIECEWISE", "PIECEWISE", "FULL_DECODE_ONLY", "NONE"};
constexpr std::array<std::string_view, 3> kMoeBackends = {"auto", "marlin", "triton"};
constexpr std::array<std::string_view, 2> kFp32Precisions = {"highest", "high"};
constexpr std::array<std::string_view, 2> kSamplers = {"sort", "flashinfer"};
constexpr std::array<std::string_view, 3> kArrivals = {"poisson", "constant", "at-once"};
constexpr std::array<std::string_view, 2> kSessionTimes = {"recorded", "answered"};
constexpr std::array<std::string_view, 1> kCompat = {"blis"};
constexpr std::array<std::string_view, 2> kThinkTimes = {"constant", "exponential"};
constexpr std::array<std::string_view, 2> kPrefixChoices = {"uniform", "zipf"};
constexpr std::array<std::string_view, 7> kStatistics = {
    "mean", "std", "p50", "p90", "p95", "p99", "max"};
constexpr std::array<std::string_view, 3> kAllToAllBackends = {
    "allgather_reducescatter", "deepep_high_throughput", "deepep_low_latency"};
constexpr std::array<std::string_view, 2> kGenerationConfigs = {"auto", "vllm"};
constexpr std::array<std::string_view, 3> kPerformanceModes = {
    "balanced", "throughput", "interactivity"};
constexpr std::array<std::string_view, 2> kSchedulingPolicies = {"fcfs", "priority"};

constexpr double kMaxTokens = 16'777'216;  // 2^24: past every network; keeps sums far from overflow
constexpr double kMaxBlocks = 1'000'000'000;        // as above
constexpr double kMaxSeed = 9'007'199'254'740'992;  // 2^53: exact in JSON

// clang-format off
constexpr auto kServedOptions = std::to_array<Option>({
    {.path = "model", .flag = "model", .unset = "required",
     .help = "The network: a catalogue name, a Hugging Face id, or a path to a config.json or its folder",
     .example = "llama-3.1-8b", .slot = [](DeploymentSection& d) -> Slot { return &d.model; }},
    {.path = "gpu", .flag = "gpu", .unset = "required",
     .help = "The GPU: a catalogue name, a market name, or a path to a YAML file",
     .example = "h100", .slot = [](DeploymentSection& d) -> Slot { return &d.gpu; }},
    {.path = "latency.name", .flag = "latency",
     .help = "The step-time model (see `ridgeline list latency`)",
     .example = "kernel", .slot = [](DeploymentSection& d) -> Slot { return &d.latency.name; }},
    {.path = "latency.constants", .flag = "latency-constants", .unset = "the built-in ones",
     .help = "File of kernel constants, as `ridgeline kernels fit` writes it, before the built-in ones",
     .example = "columns.yaml", .slot = [](DeploymentSection& d) -> Slot { return &d.latency.constants; }},
    {.path = "latency.bench_data", .flag = "bench-data", .unset = "none: only models that need it ask for it",
     .help = "Folder of measured kernel tables, for the step-time models that look kernels up",
     .example = "tables", .slot = [](DeploymentSection& d) -> Slot { return &d.latency.bench_data; }},
    {.path = "latency.hardware_config", .flag = "hardware-config", .unset = "the model's own constants",
     .help = "hardware_config.json of the original simulator, whose constants v0 to v2 then take",
     .example = "hardware_config.json", .slot = [](DeploymentSection& d) -> Slot { return &d.latency.hardware_config; }},
    {.path = "latency.lookup", .flag = "latency-lookup", .choices = kLookups, .unset = "the model's own",
     .help = "How v2 reads its tables: the row below, or between rows", .example = "interp",
     .slot = [](DeploymentSection& d) -> Slot { return &d.latency.lookup; }},
    {.path = "latency.random_tokens", .flag = "random-tokens",
     .help = "Prompts are random tokens, as of benchmarks' random data: fewer of many experts are read than for text",
     .example = "true", .slot = [](DeploymentSection& d) -> Slot { return &d.latency.random_tokens; }},
    {.path = "engine.version", .flag = "engine-version",
     .help = "The engine and its version, also --engine; a version between profiles takes the one below",
     .example = "vllm@0.15", .slot = [](DeploymentSection& d) -> Slot { return &d.engine.version; }},
    {.path = "engine.tensor_parallel_size", .flag = "tensor-parallel-size", .unit = "GPUs",
     .lowest = 1, .highest = 64, .help = "GPUs that share every layer", .example = "4",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.tensor_parallel_size; }},
    {.path = "engine.pipeline_parallel_size", .flag = "pipeline-parallel-size", .unit = "GPUs",
     .lowest = 1, .highest = 64, .help = "Stages that hold a part of the layers each", .example = "2",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.pipeline_parallel_size; }},
    {.path = "engine.data_parallel_size", .flag = "data-parallel-size", .unit = "GPUs",
     .lowest = 1, .highest = 1024,
     .help = "Copies that share the experts, if there are some, each with its part of the requests; one is simulated",
     .example = "8", .slot = [](DeploymentSection& d) -> Slot { return &d.engine.data_parallel_size; }},
    {.path = "engine.prefill_context_parallel_size", .flag = "prefill-context-parallel-size", .unit = "GPUs",
     .lowest = 1, .highest = 64, .help = "GPUs that share out the tokens of each prompt", .example = "2",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.prefill_context_parallel_size; }},
    {.path = "engine.decode_context_parallel_size", .flag = "decode-context-parallel-size", .unit = "GPUs",
     .lowest = 1, .highest = 64, .help = "GPUs that share out a sequence's KV cache; only 1 is modelled yet", .example = "1",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.decode_context_parallel_size; }},
    {.path = "engine.enable_expert_parallel", .flag = "enable-expert-parallel",
     .help = "Hand out whole experts to the GPUs, not a slice of each", .example = "true",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.enable_expert_parallel; }},
    {.path = "engine.all2all_backend", .flag = "all2all-backend", .choices = kAllToAllBackends,
     .help = "How tokens of data-parallel ranks reach the experts", .example = "deepep_low_latency",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.all2all_backend; }},
    {.path = "engine.max_num_seqs", .flag = "max-num-seqs", .unit = "requests",
     .lowest = 1, .highest = 65536, .unset = "vLLM's default for the GPU",
     .help = "Requests that may run at once", .example = "256",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.max_num_seqs; }},
    {.path = "engine.max_num_batched_tokens", .flag = "max-num-batched-tokens", .unit = "tokens",
     .lowest = 1, .highest = kMaxTokens, .unset = "vLLM's default for the GPU",
     .help = "Tokens that one step may process", .example = "8192",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.max_num_batched_tokens; }},
    {.path = "engine.max_num_scheduled_tokens", .flag = "max-num-scheduled-tokens", .unit = "tokens",
     .lowest = 1, .highest = kMaxTokens, .unset = "max_num_batched_tokens",
     .help = "Of those, tokens that requests may have (from vLLM 0.18 on)", .example = "4096",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.max_num_scheduled_tokens; }},
    {.path = "engine.max_model_len", .flag = "max-model-len", .unit = "tokens",
     .lowest = 1, .highest = kMaxTokens, .unset = "the network's, or what fits if that is less",
     .help = "Longest prompt and output together", .example = "8192",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.max_model_len; }},
    {.path = "engine.block_size", .flag = "block-size", .unit = "tokens",
     .lowest = 1, .highest = 256, .help = "Tokens in one block of the KV cache", .example = "16",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.block_size; }},
    {.path = "engine.num_gpu_blocks", .flag = "num-gpu-blocks", .unit = "blocks",
     .lowest = 2, .highest = kMaxBlocks, .unset = "what the memory holds",
     .help = "Blocks of KV cache, the null block included; replaces gpu_memory_utilization", .example = "27000",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.num_gpu_blocks; }},
    {.path = "engine.gpu_memory_utilization", .flag = "gpu-memory-utilization",
     .lowest = 0.01, .highest = 1.0, .unset = "the version's (see `ridgeline list engines`)",
     .help = "Share of the GPU's memory that the engine may use", .example = "0.92",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.gpu_memory_utilization; }},
    {.path = "engine.enable_prefix_caching", .flag = "enable-prefix-caching",
     .help = "Reuse the KV blocks of prompts that begin alike", .example = "false",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.enable_prefix_caching; }},
    {.path = "engine.enable_chunked_prefill", .flag = "enable-chunked-prefill",
     .help = "Spread a long prompt over several steps", .example = "true",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.enable_chunked_prefill; }},
    {.path = "engine.async_scheduling", .flag = "async-scheduling",
     .unset = "the version's (see `ridgeline list engines`)", .help = "Schedule the next step while the GPU works on this one",
     .example = "true", .slot = [](DeploymentSection& d) -> Slot { return &d.engine.async_scheduling; }},
    {.path = "engine.long_prefill_token_threshold", .flag = "long-prefill-token-threshold", .unit = "tokens",
     .lowest = 0, .highest = kMaxTokens, .help = "Longest chunk of one prompt in a step; 0 for no limit",
     .example = "0", .slot = [](DeploymentSection& d) -> Slot { return &d.engine.long_prefill_token_threshold; }},
    {.path = "engine.max_num_partial_prefills", .flag = "max-num-partial-prefills", .unit = "requests",
     .lowest = 1, .highest = 65536, .unset = "none",
     .help = "Without effect: vLLM V1 knows no limit but 1, which it does not heed, and none from 0.27 on", .example = "1",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.max_num_partial_prefills; }},
    {.path = "engine.max_long_partial_prefills", .flag = "max-long-partial-prefills", .unit = "requests",
     .lowest = 1, .highest = 65536, .unset = "none",
     .help = "The same", .example = "1",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.max_long_partial_prefills; }},
    {.path = "engine.performance_mode", .flag = "performance-mode", .choices = kPerformanceModes,
     .unset = "balanced",
     .help = "throughput doubles the default max_num_batched_tokens and max_num_seqs, interactivity has a CUDA "
             "graph of every size to 32 (from vLLM 0.18 on)",
     .example = "throughput", .slot = [](DeploymentSection& d) -> Slot { return &d.engine.performance_mode; }},
    {.path = "engine.prefix_cache_retention_interval", .flag = "prefix-cache-retention-interval",
     .unit = "tokens", .lowest = -1, .highest = kMaxTokens, .unset = "0 from vLLM 0.27 on, before -1",
     .help = "Of windows beside full attention, keep findable what is before a prompt's last block and where it leaves "
             "what is cached, above 0 also before each multiple; -1 (vLLM's None) keeps all",
     .example = "0", .slot = [](DeploymentSection& d) -> Slot { return &d.engine.prefix_cache_retention_interval; }},
    {.path = "engine.watermark", .flag = "watermark",
     .lowest = 0, .highest = 1, .unset = "0",
     .help = "Share of the KV blocks kept free when a request is admitted beside others (from vLLM 0.24 on)",
     .example = "0.01", .slot = [](DeploymentSection& d) -> Slot { return &d.engine.watermark; }},
    {.path = "engine.scheduler_reserve_full_isl", .flag = "scheduler-reserve-full-isl",
     .unset = "the version's (see `ridgeline list engines`)",
     .help = "Admit a request only if its whole prompt has KV blocks, not its next chunk alone (from vLLM 0.20 on)",
     .example = "false", .slot = [](DeploymentSection& d) -> Slot { return &d.engine.scheduler_reserve_full_isl; }},
    {.path = "engine.enforce_eager", .flag = "enforce-eager",
     .help = "Run without CUDA graphs: no step is padded to a captured size", .example = "false",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.enforce_eager; }},
    {.path = "engine.max_cudagraph_capture_size", .flag = "max-cudagraph-capture-size", .unit = "tokens",
     .lowest = 1, .highest = kMaxTokens, .unset = "the version's (see `ridgeline list engines`)",
     .help = "Most tokens of a step that has a CUDA graph", .example = "2048",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.max_cudagraph_capture_size; }},
    {.path = "engine.cudagraph_mode", .flag = "cudagraph-mode", .choices = kCudagraphModes,
     .help = "Which steps have CUDA graphs: auto is the version's own (PIECEWISE before vLLM 0.11, then FULL_AND_PIECEWISE); FULL_DECODE_ONLY leaves those with prompts to the host, NONE all", .example = "FULL_DECODE_ONLY",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.cudagraph_mode; }},
    {.path = "engine.moe_backend", .flag = "moe-backend", .choices = kMoeBackends,
     .help = "Kernel of experts with 4-bit weights; auto takes vLLM's choice for the GPU", .example = "marlin",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.moe_backend; }},
    {.path = "engine.fuse_allreduce_rms", .flag = "fuse-allreduce-rms",
     .help = "FlashInfer's all-reduce with the norm after it (vLLM's pass_config)", .example = "true",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.fuse_allreduce_rms; }},
    {.path = "engine.float32_matmul_precision", .flag = "float32-matmul-precision", .choices = kFp32Precisions,
     .help = "VLLM_FLOAT32_MATMUL_PRECISION: high multiplies FP32 on tensor cores", .example = "high",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.float32_matmul_precision; }},
    {.path = "engine.stream_interval", .flag = "stream-interval", .unit = "tokens",
     .lowest = 1, .highest = 1000,
     .help = "Tokens of an answer that a client gets at once, after the first, which comes at once", .example = "20",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.stream_interval; }},
    {.path = "engine.api_server_count", .flag = "api-server-count", .unit = "processes",
     .lowest = 1, .highest = 1024,
     .help = "API processes that take requests in and stream answers", .example = "4",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.api_server_count; }},
    {.path = "engine.dtype", .flag = "dtype", .choices = kDtypes,
     .help = "Format of what is not quantised; auto takes the network's", .example = "bfloat16",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.dtype; }},
    {.path = "engine.quantization", .flag = "quantization", .choices = kQuantizations,
     .unset = "the network's own",
     .help = "fp8 quantises 16-bit weights as vLLM does while it loads them; other methods must be the network's own",
     .example = "fp8", .slot = [](DeploymentSection& d) -> Slot { return &d.engine.quantization; }},
    {.path = "engine.kv_cache_dtype", .flag = "kv-cache-dtype", .choices = kKvCacheDtypes,
     .help = "Format of the KV cache; auto takes the network's", .example = "fp8",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.kv_cache_dtype; }},
    {.path = "engine.sampler", .flag = "sampler", .choices = kSamplers,
     .unset = "by engine.version",
     .help = "How the server samples, which decides the memory of its profile run: sort (PyTorch) or flashinfer",
     .example = "flashinfer", .slot = [](DeploymentSection& d) -> Slot { return &d.engine.sampler; }},
    {.path = "engine.generation_config", .flag = "generation-config", .choices = kGenerationConfigs,
     .help = "Sampling that clients do not state: auto takes the network's, vllm plain sampling",
     .example = "vllm", .slot = [](DeploymentSection& d) -> Slot { return &d.engine.generation_config; }},
    {.path = "engine.scheduling_policy", .flag = "scheduling-policy", .choices = kSchedulingPolicies,
     .help = "Order of waiting requests: first come first served, or the lowest priority first",
     .example = "priority", .slot = [](DeploymentSection& d) -> Slot { return &d.engine.scheduling_policy; }},
    {.path = "engine.enable_lora", .flag = "enable-lora",
     .help = "Serve the adapters that requests name; off: their requests run like any other", .example = "true",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.enable_lora; }},
    {.path = "engine.max_loras", .flag = "max-loras", .unit = "adapters",
     .lowest = 1, .highest = 1'000'000, .unset = "1 with enable_lora",
     .help = "Different adapters that one step may mix; requests of others wait", .example = "4",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.max_loras; }},
    {.path = "engine.speculative_config", .flag = "speculative-config", .unset = "none",
     .help = "Drafts that one step verifies: method (ngram, draft_model, eagle, eagle3, mtp), model, "
             "num_speculative_tokens, acceptance, the probability of each draft, and "
             "num_speculative_tokens_per_batch_size, rows of first request, last request, drafts",
     .example = "{method: mtp, num_speculative_tokens: 1, acceptance: 0.8}",
     .slot = [](DeploymentSection& d) -> Slot { return &d.engine.speculative_config; }},
    {.path = "serving.network_in", .flag = "network-in", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "what measured servers take",
     .help = "From the client to the API server, and HTTP parsing",
     .example = "2.5ms", .slot = [](DeploymentSection& d) -> Slot { return &d.serving.network_in; }},
    {.path = "serving.frontend_time", .flag = "frontend-time", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "what measured servers take",
     .help = "Serial work of the API server on a request",
     .example = "1ms", .slot = [](DeploymentSection& d) -> Slot { return &d.serving.frontend_time; }},
    {.path = "serving.frontend_token_time", .flag = "frontend-token-time", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "what measured servers take",
     .help = "The same, for each token of the prompt",
     .example = "1us", .slot = [](DeploymentSection& d) -> Slot { return &d.serving.frontend_token_time; }},
    {.path = "serving.emit_time", .flag = "emit-time", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "what measured servers take",
     .help = "From the end of a step to the server's answer",
     .example = "1ms", .slot = [](DeploymentSection& d) -> Slot { return &d.serving.emit_time; }},
    {.path = "serving.delivery_time", .flag = "delivery-time", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "what measured servers take",
     .help = "From the server's answer to the client",
     .example = "2.5ms", .slot = [](DeploymentSection& d) -> Slot { return &d.serving.delivery_time; }},
    {.path = "serving.close_time", .flag = "close-time", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "what measured servers take",
     .help = "From the last token to the end of the request at the client",
     .example = "1.5ms", .slot = [](DeploymentSection& d) -> Slot { return &d.serving.close_time; }},
    {.path = "serving.host_step_time", .flag = "host-step-time", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "what measured servers take",
     .help = "Host work of a step: added by a synchronous engine, hidden by an asynchronous one",
     .example = "400us", .slot = [](DeploymentSection& d) -> Slot { return &d.serving.host_step_time; }},
    {.path = "serving.host_sequence_time", .flag = "host-sequence-time", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "what measured servers take",
     .help = "The same, for each sequence of the batch",
     .example = "15us", .slot = [](DeploymentSection& d) -> Slot { return &d.serving.host_sequence_time; }},
    {.path = "serving.host_rank_time", .flag = "host-rank-time", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "what measured servers take",
     .help = "Host work of a step for each tensor-parallel rank after the first, with an asynchronous engine",
     .example = "150us", .slot = [](DeploymentSection& d) -> Slot { return &d.serving.host_rank_time; }},
    {.path = "serving.frontend_output_time", .flag = "frontend-output-time", .unit = "s",
     .lowest = 0, .highest = 1, .unset = "what measured servers take",
     .help = "Work of an API process to stream what a step gives a sequence; 0s for no limit on tokens per second",
     .example = "75us", .slot = [](DeploymentSection& d) -> Slot { return &d.serving.frontend_output_time; }},
    {.path = "serving.frontend_rescan_time", .flag = "frontend-rescan-time", .unit = "s",
     .lowest = 0, .highest = 1, .unset = "0s",
     .help = "More of that for each token that an answer has already: a parser that reads it again; at half of workload.output_len",
     .example = "300ns", .slot = [](DeploymentSection& d) -> Slot { return &d.serving.frontend_rescan_time; }},
    {.path = "serving.host_class", .flag = "host-class",
     .lowest = 0.1, .highest = 50, .unset = "1",
     .help = "How many times longer the host takes for its share of a step than those of the measured servers",
     .example = "8", .slot = [](DeploymentSection& d) -> Slot { return &d.serving.host_class; }},
    {.path = "serving.first_use_stalls", .flag = "first-use-stalls",
     .help = "The server has not warmed up: steps wait where an experts' kernel is compiled on its first use",
     .example = "true", .slot = [](DeploymentSection& d) -> Slot { return &d.serving.first_use_stalls; }},
    {.path = "serving.first_use_time", .flag = "first-use-time", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "what measured servers take",
     .help = "How long a step waits then, once for each range of token counts",
     .example = "1s", .slot = [](DeploymentSection& d) -> Slot { return &d.serving.first_use_time; }},
    {.path = "serving.grammar_compile_time", .flag = "grammar-compile-time", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "100 ms with structured outputs, from memory",
     .help = "Time to compile a structured output's schema, once for each: its first requests wait so long",
     .example = "250ms", .slot = [](DeploymentSection& d) -> Slot { return &d.serving.grammar_compile_time; }},
    {.path = "serving.grammar_mask_time", .flag = "grammar-mask-time", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "40 us with structured outputs, from memory",
     .help = "Host work of a step for each request with a structured output: the mask of its next token",
     .example = "100us", .slot = [](DeploymentSection& d) -> Slot { return &d.serving.grammar_mask_time; }},
    {.path = "workload.trace", .flag = "trace", .unset = "no trace: requests are made up",
     .help = "File of recorded requests", .example = "requests.csv",
     .slot = [](WorkloadSection& w) -> Slot { return &w.trace; }},
    {.path = "workload.trace_start", .flag = "trace-start", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "0s",
     .help = "Where in the trace to begin; time counts from there", .example = "3600s",
     .slot = [](WorkloadSection& w) -> Slot { return &w.trace_start; }},
    {.path = "workload.trace_end", .flag = "trace-end", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "the trace's end",
     .help = "Where in the trace to end: what begins then or later is left out", .example = "7200s",
     .slot = [](WorkloadSection& w) -> Slot { return &w.trace_end; }},
    {.path = "workload.trace_tenant", .flag = "trace-tenant", .unset = "all",
     .help = "Replay the requests of this tenant alone, or of several: a,b", .example = "API log",
     .slot = [](WorkloadSection& w) -> Slot { return &w.trace_tenant; }},
    {.path = "workload.trace_model", .flag = "trace-model", .unset = "all",
     .help = "Replay the requests that the trace sends to this model alone, or to several: a,b", .example = "GPT-4",
     .slot = [](WorkloadSection& w) -> Slot { return &w.trace_model; }},
    {.path = "workload.trace_speed_up", .flag = "trace-speed-up",
     .lowest = 1e-6, .highest = 1e6, .unset = "1",
     .help = "How many times faster than recorded the requests come", .example = "2",
     .slot = [](WorkloadSection& w) -> Slot { return &w.trace_speed_up; }},
    {.path = "workload.trace_sessions", .flag = "trace-sessions", .choices = kSessionTimes, .unset = "recorded",
     .help = "When turns of recorded sessions come: at their times, or after the answer before", .example = "answered",
     .slot = [](WorkloadSection& w) -> Slot { return &w.trace_sessions; }},
    {.path = "workload.skip_bad_rows", .flag = "skip-bad-rows", .unset = "false",
     .help = "Drop rows of a trace that cannot be read; they are counted and listed", .example = "true",
     .slot = [](WorkloadSection& w) -> Slot { return &w.skip_bad_rows; }},
    {.path = "workload.num_prompts", .flag = "num-prompts", .unit = "requests",
     .lowest = 1, .highest = workload::kMaxRequests, .unset = "1000, or what duration or the trace holds",
     .help = "Requests to send", .example = "1000",
     .slot = [](WorkloadSection& w) -> Slot { return &w.num_prompts; }},
    {.path = "workload.duration", .flag = "duration", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "as long as num_prompts takes",
     .help = "No request is sent from this time on, nor a later turn of a session", .example = "60s",
     .slot = [](WorkloadSection& w) -> Slot { return &w.duration; }},
    {.path = "workload.arrivals", .flag = "arrivals", .choices = kArrivals, .unset = "poisson",
     .help = "Gaps between requests: poisson (see burstiness), constant, or all at-once", .example = "constant",
     .slot = [](WorkloadSection& w) -> Slot { return &w.arrivals; }},
    {.path = "workload.request_rate", .flag = "request-rate", .unit = "requests/s",
     .lowest = 1e-6, .highest = 1e6, .unset = "none: needs max_concurrency or arrivals at-once",
     .help = "Mean rate of arrivals; with a trace, its requests come at this rate, not at their times", .example = "8",
     .slot = [](WorkloadSection& w) -> Slot { return &w.request_rate; }},
    {.path = "workload.burstiness", .flag = "burstiness",
     .lowest = 0.01, .highest = 1e6, .unset = "1",
     .help = "Shape of the gaps: 1 is Poisson, less is burstier, more is steadier", .example = "0.5",
     .slot = [](WorkloadSection& w) -> Slot { return &w.burstiness; }},
    {.path = "workload.max_concurrency", .flag = "max-concurrency", .unit = "requests",
     .lowest = 1, .highest = workload::kMaxConcurrency, .unset = "an open loop: clients do not wait",
     .help = "Requests in flight at most; without a rate, so many clients that each send when they have their answer", .example = "64",
     .slot = [](WorkloadSection& w) -> Slot { return &w.max_concurrency; }},
    {.path = "workload.think_time", .flag = "think-time", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "0s",
     .help = "Closed loop: mean time from an answer to the client's next request", .example = "5s",
     .slot = [](WorkloadSection& w) -> Slot { return &w.think_time; }},
    {.path = "workload.think_time_distribution", .flag = "think-time-distribution", .choices = kThinkTimes,
     .unset = "constant", .help = "How think times vary", .example = "exponential",
     .slot = [](WorkloadSection& w) -> Slot { return &w.think_time_distribution; }},
    {.path = "workload.input_len", .flag = "input-len", .unit = "tokens",
     .lowest = 1, .highest = workload::kMaxTokensPerRequest, .unset = "required without a trace",
     .help = "Prompt length; prefix_len comes on top", .example = "512",
     .slot = [](WorkloadSection& w) -> Slot { return &w.input_len; }},
    {.path = "workload.output_len", .flag = "output-len", .unit = "tokens",
     .lowest = 1, .highest = workload::kMaxTokensPerRequest, .unset = "required without a trace",
     .help = "Tokens that a request generates",
     .example = "{distribution: lognormal, mean: 256, std: 200, min: 1, max: 2048}",
     .slot = [](WorkloadSection& w) -> Slot { return &w.output_len; }},
    {.path = "workload.prefix_len", .flag = "prefix-len", .unit = "tokens",
     .lowest = 0, .highest = workload::kMaxTokensPerRequest, .unset = "0",
     .help = "Tokens before each prompt that it shares with others, like a system prompt", .example = "128",
     .slot = [](WorkloadSection& w) -> Slot { return &w.prefix_len; }},
    {.path = "workload.num_prefixes", .flag = "num-prefixes",
     .lowest = 1, .highest = workload::kMaxPrefixes, .unset = "1",
     .help = "How many different prefixes there are", .example = "10",
     .slot = [](WorkloadSection& w) -> Slot { return &w.num_prefixes; }},
    {.path = "workload.prefix_choice", .flag = "prefix-choice", .choices = kPrefixChoices, .unset = "uniform",
     .help = "Which prefix a request has: any alike, or the first ones more often", .example = "zipf",
     .slot = [](WorkloadSection& w) -> Slot { return &w.prefix_choice; }},
    {.path = "workload.prefix_zipf_exponent", .flag = "prefix-zipf-exponent",
     .lowest = 0, .highest = 10, .unset = "1",
     .help = "Prefix k is used in proportion to k to the minus this", .example = "1.2",
     .slot = [](WorkloadSection& w) -> Slot { return &w.prefix_zipf_exponent; }},
    {.path = "workload.structured_output_ratio", .flag = "structured-output-ratio",
     .lowest = 0, .highest = 1, .unset = "0",
     .help = "Share of the requests that have a structured output, held to a schema", .example = "0.5",
     .slot = [](WorkloadSection& w) -> Slot { return &w.structured_output_ratio; }},
    {.path = "workload.structured_output_schemas", .flag = "structured-output-schemas",
     .lowest = 1, .highest = 1'000'000'000, .unset = "1 with structured outputs",
     .help = "How many different schemas they have, each as likely", .example = "10",
     .slot = [](WorkloadSection& w) -> Slot { return &w.structured_output_schemas; }},
});

constexpr auto kRunOptions = std::to_array<Option>({
    {.path = "slo.ttft", .flag = "slo-ttft", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "no limit",
     .help = "A good request's time to first token is at most this", .example = "500ms",
     .slot = [](RunSettings& r) -> Slot { return &r.slo.ttft; }},
    {.path = "slo.tpot", .flag = "slo-tpot", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "no limit",
     .help = "A good request's mean time per further token is at most this", .example = "50ms",
     .slot = [](RunSettings& r) -> Slot { return &r.slo.tpot; }},
    {.path = "slo.itl", .flag = "slo-itl", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "no limit",
     .help = "A good request's mean gap between tokens is at most this", .example = "60ms",
     .slot = [](RunSettings& r) -> Slot { return &r.slo.itl; }},
    {.path = "slo.e2e", .flag = "slo-e2e", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "no limit",
     .help = "A good request's whole time is at most this", .example = "10s",
     .slot = [](RunSettings& r) -> Slot { return &r.slo.e2e; }},
    {.path = "slo.statistic", .flag = "slo-statistic", .choices = kStatistics, .unset = "p99",
     .help = "What of a run's distribution is held against each target", .example = "p95",
     .slot = [](RunSettings& r) -> Slot { return &r.slo.statistic; }},
    {.path = "compat", .flag = "compat", .choices = kCompat, .unset = "none",
     .help = "Says where results differ on purpose from another simulator's: blis (inference-sim)", .example = "blis",
     .slot = [](RunSettings& r) -> Slot { return &r.compat; }},
    {.path = "recipe", .flag = "recipe", .unset = "none: the engine's defaults",
     .help = "Takes what the section engine leaves open from a publisher's recipes (data/recipes)",
     .example = "inferencex", .slot = [](DeploymentSection& d) -> Slot { return &d.recipe; }},
    {.path = "request_path", .flag = "request-path", .choices = kOnOff,
     .help = "Count the network's, the client's and the API server's time", .example = "off",
     .slot = [](DeploymentSection& d) -> Slot { return &d.request_path; }},
    {.path = "percentiles", .flag = "percentiles", .choices = kPercentiles,
     .help = "exact, or a sketch of bounded memory with a relative error of at most 0.1 %", .example = "sketch",
     .slot = [](RunSettings& r) -> Slot { return &r.percentiles; }},
    {.path = "warmup", .flag = "warmup", .unit = "s",
     .lowest = 0, .highest = kMaxSeconds, .unset = "0s: all are measured",
     .help = "Requests sent before this time are simulated and not measured", .example = "60s",
     .slot = [](RunSettings& r) -> Slot { return &r.warmup; }},
    {.path = "cache_state", .flag = "cache-state", .unset = "none: prefix caches start empty",
     .help = "A file that --cache-state-out of an earlier run wrote: what the prefix caches hold at the start",
     .example = "caches.json",
     .slot = [](RunSettings& r) -> Slot { return &r.cache_state; }},
    {.path = "seed", .flag = "seed", .lowest = 0, .highest = kMaxSeed,
     .help = "Number of the random stream; the same seed gives the same run", .example = "1",
     .slot = [](RunSettings& r) -> Slot { return &r.seed; }},
});
// clang-format on

document::Node node_of(const std::string& value) {
  return document::Node::string(value, {});
}
document::Node node_of(std::int64_t value) {
  return document::Node::integer(value, {});
}
document::Node node_of(double value) {
  return document::Node::real(value, {});
}
document::Node node_of(bool value) {
  return document::Node::boolean(value, {});
}
document::Node node_of(core::Duration value) {
  return document::Node::string(fmt::format("{}s", value.to_seconds()), {});
}
document::Node node_of(const workload::Length& value) {
  return to_node(value);
}
document::Node node_of(const SpeculativeConfig& value) {
  return to_node(value);
}
document::Node node_of(const document::Node& value) {
  return value;
}
template <class T>
document::Node node_of(const std::optional<T>& value) {
  return value ? node_of(*value) : document::Node();
}
/// What a slot holds.
template <class T>
document::Node held_by(const T* slot) {
  return node_of(*slot);
}
document::Node held_by(const NamedSlot& slot) {
  const auto found = std::ranges::find(*slot.values, slot.name, &document::NamedValue::name);
  return found == slot.values->end() ? document::Node() : found->value;
}

std::vector<Option> all_options() {
  std::vector<Option> all(kServedOptions.begin(), kServedOptions.end());
  // Behind the engine's own.
  const auto behind = std::find_if(all.rbegin(), all.rend(), [](const Option& option) {
                        return option.section() == "engine";
                      }).base();
  const auto settings = engine_setting_options();
  all.insert(behind, settings.begin(), settings.end());
  for (const SectionEntry& section : cluster_sections()) {
    const auto own = section.options();
    all.insert(all.end(), own.begin(), own.end());
  }
  all.insert(all.end(), kRunOptions.begin(), kRunOptions.end());
  return all;
}

}  // namespace

std::string_view Option::section() const {
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

std::string_view Option::key() const {
  return path.substr(section().empty() ? 0 : section().size() + 1);
}

bool Option::is_switch() const {
  return kind() == "true or false";
}

std::string_view Option::kind() const {
  Scenario scratch;
  return std::visit(
      [this](auto value) -> std::string_view {
        using T = std::remove_pointer_t<decltype(value)>;
        if constexpr (std::is_same_v<T, NamedSlot>) {
          return named_kind;
        } else if constexpr (std::is_same_v<T, std::optional<document::Node>>) {
          return shape == Shape::kItems ? "list" : "map";
        } else if constexpr (std::is_same_v<T, std::int64_t> ||
                             std::is_same_v<T, std::optional<std::int64_t>>) {
          return "integer";
        } else if constexpr (std::is_same_v<T, std::optional<double>>) {
          return "number";
        } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::optional<bool>>) {
          return "true or false";
        } else if constexpr (std::is_same_v<T, std::optional<core::Duration>>) {
          return "duration";
        } else if constexpr (std::is_same_v<T, std::optional<workload::Length>>) {
          return "integer or distribution";
        } else if constexpr (std::is_same_v<T, std::optional<SpeculativeConfig>>) {
          return "map";
        } else {
          return "text";
        }
      },
      slot_of(*this, scratch));
}

std::string Option::default_text() const {
  return unset.empty() ? value_text(*this, Scenario()) : std::string(unset);
}

std::string Option::range_text() const {
  if (!choices.empty()) {
    return fmt::format("{}", fmt::join(choices, ", "));
  }
  return lowest == highest ? "" : fmt::format("{} to {}", lowest, highest);
}

std::span<const Option> options() {
  static const std::vector<Option> kAll = all_options();
  return kAll;
}

const Option* find_option(std::string_view path) {
  const auto all = options();
  const auto option = std::ranges::find(all, path, &Option::path);
  return option == all.end() ? nullptr : &*option;
}

std::vector<std::string> sections_below(std::string_view section) {
  std::vector<std::string> keys;
  const std::string before = section.empty() ? "" : fmt::format("{}.", section);
  for (const Option& option : options()) {
    const std::string_view own = option.section();
    if (own.size() <= before.size() || !own.starts_with(before)) {
      continue;
    }
    const std::string_view rest = own.substr(before.size());
    const std::string key(rest.substr(0, rest.find('.')));
    if (std::ranges::find(keys, key) == keys.end()) {
      keys.push_back(key);
    }
  }
  return keys;
}

std::string_view naming_key(std::string_view section) {
  if (section == "engine") {
    return "version";
  }
  return find_option(fmt::format("{}.name", section)) == nullptr ? "" : "name";
}

Slot slot_of(const Option& option, Scenario& scenario) {
  struct Finder {
    Scenario& scenario;
    std::string_view key;
    Slot operator()(Slot (*slot)(DeploymentSection&)) const { return slot(scenario.deployment); }
    Slot operator()(Slot (*slot)(DeploymentSection&, std::string_view)) const {
      return slot(scenario.deployment, key);
    }
    Slot operator()(Slot (*slot)(WorkloadSection&)) const { return slot(scenario.workload); }
    Slot operator()(Slot (*slot)(RunSettings&)) const { return slot(scenario.run); }
    Slot operator()(Slot (*slot)(RunSettings&, std::string_view)) const {
      return slot(scenario.run, key);
    }
  };
  return std::visit(Finder{scenario, option.key()}, option.slot);
}

std::optional<Slot> slot_of(const Option& option, DeploymentSection& deployment) {
  if (const auto* slot = std::get_if<Slot (*)(DeploymentSection&)>(&option.slot)) {
    return (*slot)(deployment);
  }
  const auto* named = std::get_if<Slot (*)(DeploymentSection&, std::string_view)>(&option.slot);
  return named == nullptr ? std::nullopt : std::optional((*named)(deployment, option.key()));
}

document::Node value_node(const Option& option, const Scenario& scenario) {
  // Slots are made for reading and writing alike; this one is read.
  auto& readable =
      const_cast<Scenario&>(scenario);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  return std::visit([](const auto& slot) { return held_by(slot); }, slot_of(option, readable));
}

std::string value_text(const Option& option, const Scenario& scenario) {
  return flow_text(value_node(option, scenario));
}

std::string flow_text(const document::Node& node) {
  switch (node.kind()) {
    case document::Node::Kind::kNull:
      return "null";
    case document::Node::Kind::kBool:
      return node.as_bool() ? "true" : "false";
    case document::Node::Kind::kInteger:
      return fmt::format("{}", node.as_integer());
    case document::Node::Kind::kReal:
      return fmt::format("{}", node.as_real());
    case document::Node::Kind::kString:
      return node.as_string();
    case document::Node::Kind::kList: {
      std::vector<std::string> items;
      for (const auto& item : node.items()) {
        items.push_back(flow_text(item));
      }
      return fmt::format("[{}]", fmt::join(items, ", "));
    }
    case document::Node::Kind::kMap: {
      std::vector<std::string> members;
      for (const auto& member : node.members()) {
        members.push_back(fmt::format("{}: {}", member.key, flow_text(member.value)));
      }
      return fmt::format("{{{}}}", fmt::join(members, ", "));
    }
  }
  return {};
}

}  // namespace ridgeline::scenario
