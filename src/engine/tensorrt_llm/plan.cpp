// How trtllm-serve divides a GPU's memory and fills its defaults (llmapi/llm_args.py,
// _torch/pyexecutor/_util.py).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "engine/capacity.hpp"
#include "engine/engine_plan.hpp"
#include "engine/options.hpp"
#include "engine/tensorrt_llm/options.hpp"
#include "engine/tensorrt_llm/settings.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "model/weight_format.hpp"

namespace ridgeline::engine::tensorrt_llm {
namespace {

constexpr std::string_view kBlockReuse = "enable_block_reuse";

core::Error refusal(std::string_view setting, std::string message, std::string hint = {}) {
  return {.field = fmt::format("engine.{}", setting),
          .message = std::move(message),
          .hint = std::move(hint)};
}

bool cuts_prompts(const PlanInputs& in) {
  const document::Node* const stated = in.settings.stated(kChunkedPrefill);
  return stated != nullptr && stated->as_bool();
}

bool recurs(const PlanInputs& in) {
  return std::ranges::any_of(in.network.layers, [](const model::LayerGroup& group) {
    return group.recurrent.has_value();
  });
}

/// Networks with recurrent states keep no blocks for others, unless asked to (get_model_defaults).
bool reuses_blocks(const PlanInputs& in) {
  return in.settings.truth(kBlockReuse) && !recurs(in);
}

/// What is not modelled is refused by its name.
core::Errors not_modelled(const PlanInputs& in) {
  core::Errors errors;
  const auto refuse = [&](bool refused, std::string_view setting, std::string_view what) {
    if (refused) {
      errors.push_back(
          refusal(setting, fmt::format("{} is not modelled for tensorrt-llm yet", what)));
    }
  };
  const bool has_ranks = in.settings.truth("enable_attention_dp");
  refuse(in.sharding.data_parallel_size > 1 && !has_ranks,
         "data_parallel_size",
         "data parallelism without enable_attention_dp");
  refuse(has_ranks && !model::has_experts(in.network),
         "enable_attention_dp",
         "attention in data parallel of a network without experts");
  refuse(has_ranks && in.sharding.pipeline_parallel_size > 1,
         "enable_attention_dp",
         "attention in data parallel in a pipeline");
  refuse(in.sharding.prefill_context_parallel_size > 1,
         "prefill_context_parallel_size",
         "context parallelism");
  // Windows keep whole contexts: max_attention_window is unset, and every layer has its tokens.
  refuse(recurs(in) && in.settings.stated(kBlockReuse) != nullptr && in.settings.truth(kBlockReuse),
         kBlockReuse,
         "reuse of recurrent states");
  return errors;
}

/// What the server itself refuses, or what could only be ignored.
core::Errors illegal(const PlanInputs& in) {
  core::Errors errors;
  const document::ParameterValues& given = in.settings;
  const std::string policy = given.word("capacity_scheduler_policy");
  if (policy == "STATIC_BATCH" && !given.truth("disable_overlap_scheduler")) {
    errors.push_back(refusal("capacity_scheduler_policy",
                             "STATIC_BATCH does not go with the overlap scheduler",
                             "disable_overlap_scheduler: true"));
  }
  const std::int64_t budget = given.integer("max_num_tokens");
  const std::int64_t block = given.integer("tokens_per_block");
  if (cuts_prompts(in) && budget < block) {
    errors.push_back(refusal(
        "max_num_tokens",
        fmt::format("{} is less than a chunk, which is tokens_per_block: {}", budget, block),
        fmt::format("{}", block)));
  }
  if (budget <= in.num_speculative_tokens) {
    errors.push_back(refusal(
        "max_num_tokens",
        fmt::format(
            "{} is less than a generation with its {} drafts", budget, in.num_speculative_tokens),
        fmt::format("{}", in.num_speculative_tokens + 1)));
  }
  if (given.stated("max_tokens") != nullptr && given.integer("max_tokens") < block) {
    errors.push_back(
        refusal("max_tokens",
                fmt::format("{} is less than a block, tokens_per_block: {}: no request could run",
                            given.integer("max_tokens"),
                            block),
                fmt::format("{}", block)));
  }
  if ((block & (block - 1)) != 0) {
    errors.push_back(refusal("tokens_per_block",
                             fmt::format("{} is no power of two, as the server asks for", block)));
  }
  const bool reuses = reuses_blocks(in);
  const bool has_ranks = given.truth("enable_attention_dp");
  const bool balances = has_ranks && given.truth("attention_dp_enable_balance");
  const Need needs[] = {
      {"enable_attention_dp", "tensor_parallel_size above 1", in.sharding.data_parallel_size > 1},
      {"attention_dp_enable_balance", "enable_attention_dp", has_ranks},
      {"attention_dp_timeout_iters", "attention_dp_enable_balance", balances},
      {"attention_dp_batching_wait_iters", "attention_dp_enable_balance", balances},
      {"batch_wait_timeout_iters", "enable_attention_dp: false", !has_ranks},
      {"batch_wait_max_tokens_ratio", "enable_attention_dp: false", !has_ranks},
      {"context_chunking_policy", kChunkedPrefill, cuts_prompts(in)},
      {"enable_partial_reuse", "enable_block_reuse", reuses},
      {"copy_on_partial_reuse",
       "enable_partial_reuse",
       reuses && given.truth("enable_partial_reuse")},
      {"cuda_graph_max_batch_size", "CUDA graphs", !in.enforce_eager},
      {"cuda_graph_enable_padding", "CUDA graphs", !in.enforce_eager}};
  for (core::Error& error : without_effect(in, kSettings, needs)) {
    errors.push_back(std::move(error));
  }
  return errors;
}

/// Batches of generations with a CUDA graph (llm_args.py: CudaGraphConfig). Without padding a batch
/// needs a graph of its own size: every size to 32, then 64 and 128. Larger steps without a graph
/// between two sizes cannot be said here, so that the list ends where it has its first hole.
std::vector<std::int64_t> graph_sizes(std::int64_t most, bool padding) {
  constexpr std::int64_t kEverySizeTo = 32;
  constexpr std::int64_t kFine = 8;
  constexpr std::int64_t kFineTo = 128;
  std::vector<std::int64_t> sizes;
  if (!padding) {
    for (std::int64_t size = 1; size <= std::min(most, kEverySizeTo); ++size) {
      sizes.push_back(size);
    }
    return sizes;
  }
  for (const std::int64_t small : {1, 2, 4}) {
    if (small <= most) {
      sizes.push_back(small);
    }
  }
  for (std::int64_t size = kFine; size <= most; size += size < kFineTo ? kFine : size) {
    sizes.push_back(size);
  }
  if (sizes.back() != most) {
    sizes.push_back(most);
  }
  return sizes;
}

EngineOptions options_of(const PlanInputs& in) {
  const document::ParameterValues& given = in.settings;
  const std::int64_t stages = in.sharding.pipeline_parallel_size;
  EngineOptions options;
  options.max_num_seqs = given.integer("max_batch_size");
  options.max_num_batched_tokens = core::Tokens(given.integer("max_num_tokens"));
  options.max_model_len = in.max_model_len;
  options.block_size = core::Tokens(given.integer("tokens_per_block"));
  options.enable_chunked_prefill = cuts_prompts(in);
  options.enable_prefix_caching = reuses_blocks(in);
  options.pipeline_depth = stages > 1 ? stages : 0;
  options.async_scheduling = stages == 1 && !given.truth("disable_overlap_scheduler");
  auto own = std::make_shared<OwnOptions>();
  Settings& settings = own->settings;
  const std::string policy = given.word("capacity_scheduler_policy");
  settings.capacity_scheduler_policy = policy == "MAX_UTILIZATION" ? CapacityPolicy::kMaxUtilization
                                       : policy == "STATIC_BATCH"
                                           ? CapacityPolicy::kStaticBatch
                                           : CapacityPolicy::kGuaranteedNoEvict;
  settings.context_chunking_policy = given.word("context_chunking_policy") == "EQUAL_PROGRESS"
                                         ? ChunkingPolicy::kEqualProgress
                                         : ChunkingPolicy::kFirstComeFirstServed;
  settings.two_step_lookahead = stages > 1;
  settings.enable_partial_reuse = given.truth("enable_partial_reuse");
  settings.copy_on_partial_reuse = given.truth("copy_on_partial_reuse");
  settings.batch_wait_timeout_iters = given.integer("batch_wait_timeout_iters");
  settings.batch_wait_max_tokens_ratio = given.number("batch_wait_max_tokens_ratio");
  settings.enable_attention_dp = given.truth("enable_attention_dp");
  settings.attention_dp_enable_balance = given.truth("attention_dp_enable_balance");
  settings.attention_dp_timeout_iters = given.integer("attention_dp_timeout_iters");
  settings.attention_dp_batching_wait_iters = given.integer("attention_dp_batching_wait_iters");
  options.own = std::move(own);
  return options;
}

/// The memory, with the KV cache as a share of what is free after the profiling run, which computes
/// max_num_tokens of the longest prompts (_util.py: KvCacheCreator). The terms before it are those
/// measured for vLLM (docs/models/capacity.md).
MemoryPlan divide(const PlanInputs& in, const EngineOptions& options) {
  const std::int64_t prompts =
      core::ceil_div(options.max_num_batched_tokens, options.max_model_len);
  MemoryPlan memory = plan_memory(in.network,
                                  in.gpu,
                                  {.sharding = in.sharding,
                                   .draft = in.draft,
                                   .draft_sharding = in.draft_sharding,
                                   .gpu_memory_utilization = 1.0,
                                   .block_size = options.block_size,
                                   .max_num_seqs = prompts,
                                   .max_num_batched_tokens = options.max_num_batched_tokens,
                                   .enforce_eager = in.enforce_eager,
                                   .num_speculative_tokens = in.num_speculative_tokens});
  const double fraction = in.settings.number("free_gpu_memory_fraction");
  memory.utilization = fraction;
  // A recurrent state for each sequence of a batch, and one more for each of its drafts
  // (MambaHybridCacheManager): taken before the KV cache.
  memory.sequence_state =
      model::state_bytes_per_rank(in.network, in.sharding) *
      static_cast<double>(recurs(in) ? options.max_num_seqs * (1 + in.num_speculative_tokens) : 0);
  memory.kv_cache = (memory.usable - memory.weights - memory.activations - memory.non_torch -
                     memory.position_tables - memory.sequence_state) *
                    fraction;
  memory.block_size = options.block_size;
  double per_token = model::kv_bytes_per_token_per_rank(in.network, in.sharding).value();
  if (in.draft != nullptr) {
    per_token += model::kv_bytes_per_token_per_rank(*in.draft, in.draft_sharding).value();
  }
  memory.block = core::Bytes(per_token * static_cast<double>(options.block_size.value()));
  const double blocks = std::floor(std::max(memory.kv_cache / memory.block, 0.0));
  memory.num_gpu_blocks = core::Blocks(static_cast<std::int64_t>(blocks));
  return memory;
}

std::vector<MemoryLine> lines_of(const MemoryPlan& memory, std::int64_t tokens) {
  const double bytes_per_token =
      memory.block.value() / static_cast<double>(memory.block_size.value());
  std::vector<MemoryLine> lines = {
      {.key = "usable", .label = "usable", .bytes = memory.usable},
      {.key = "weights", .label = "- weights", .bytes = memory.weights},
      {.key = "activations",
       .label = "- activations",
       .bytes = memory.activations + memory.position_tables,
       .note = "of the profiling run: max_num_tokens"},
      {.key = "libraries", .label = "- CUDA libraries", .bytes = memory.non_torch},
      {.key = "kv_cache",
       .label = "= room for the KV cache",
       .bytes = memory.kv_cache,
       .note = fmt::format("free_gpu_memory_fraction {} of the rest", memory.utilization)},
      {.key = "kv_pool",
       .label = "KV cache",
       .bytes = core::Bytes(bytes_per_token * static_cast<double>(tokens)),
       .note = fmt::format("max_tokens {}", tokens)}};
  if (memory.sequence_state > core::Bytes(0)) {
    const auto room = std::ranges::find(lines, "kv_cache", &MemoryLine::key);
    lines.insert(room,
                 {.key = "states",
                  .label = "- recurrent states",
                  .bytes = memory.sequence_state,
                  .note = "of max_batch_size sequences"});
  }
  return lines;
}

core::Error does_not_fit(const PlanInputs& in, const MemoryPlan& memory) {
  core::Error error{.field = "model",
                    .message = fmt::format(
                        "{} does not fit: {:.2f} GiB on each {}, {:.2f} of them weights, {:.2f} "
                        "states of max_batch_size sequences, leave {:.2f} GiB for the KV cache",
                        in.network.name,
                        core::as_gibibytes(memory.usable),
                        in.gpu.name,
                        core::as_gibibytes(memory.weights),
                        core::as_gibibytes(memory.sequence_state),
                        core::as_gibibytes(memory.kv_cache)),
                    .hint =
                        "a larger --tensor-parallel-size, or a smaller --max-num-tokens or "
                        "--max-batch-size"};
  error.code = core::ErrorCode::kInfeasible;
  return error;
}

}  // namespace

core::Result<EnginePlan> plan(const PlanInputs& in) {
  core::Errors errors = not_modelled(in);
  for (core::Error& error : illegal(in)) {
    errors.push_back(std::move(error));
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  EnginePlan plan;
  plan.options = options_of(in);
  if (recurs(in) && in.settings.truth(kBlockReuse)) {
    plan.warnings.push_back(
        {.code = "W-block-reuse",
         .message = "enable_block_reuse is off: TensorRT-LLM's default for networks with recurrent "
                    "states (from memory)",
         .hint = {}});
  }
  plan.memory = divide(in, plan.options);
  const std::int64_t size = plan.options.block_size.value();
  const std::int64_t holds = plan.memory.num_gpu_blocks.value();
  if (holds < 1) {
    return core::fail(does_not_fit(in, plan.memory));
  }
  std::int64_t blocks = holds;
  if (in.settings.stated("max_tokens") != nullptr) {
    const std::int64_t wanted = (in.settings.integer("max_tokens") + size - 1) / size;
    blocks = std::min(wanted, holds);
    if (wanted > holds) {
      plan.warnings.push_back(
          {.code = "W-max-tokens",
           .message =
               fmt::format("max_tokens {} is more than the memory holds: TensorRT-LLM takes {}",
                           in.settings.integer("max_tokens"),
                           holds * size),
           .hint = {}});
    }
  }
  plan.lines = lines_of(plan.memory, blocks * size);
  plan.memory.num_gpu_blocks = core::Blocks(blocks + 1);
  plan.options.num_gpu_blocks = plan.memory.num_gpu_blocks;
  plan.derived = {{.name = "max_tokens", .value = document::Node::integer(blocks * size, {})}};
  plan.cuda_graph_sizes = graph_sizes(in.settings.integer("cuda_graph_max_batch_size"),
                                      in.settings.truth("cuda_graph_enable_padding"));
  for (std::int64_t& sequences : plan.cuda_graph_sizes) {
    sequences *= 1 + in.num_speculative_tokens;  // Each with its drafts.
  }
  return plan;
}

}  // namespace ridgeline::engine::tensorrt_llm
