#pragma once

#include <cstdint>

namespace ridgeline::engine::tensorrt_llm {

/// capacity_scheduler_policy: which active requests have KV blocks for the next step.
enum class CapacityPolicy : std::uint8_t {
  kGuaranteedNoEvict,  ///< A request comes in when its blocks to the last token are free.
  kMaxUtilization,     ///< When those of the next step are; later ones may pause it.
  kStaticBatch,        ///< As no-evict, when the batch before has ended.
};

/// context_chunking_policy: how the token budget is divided among prompts that do not all fit.
enum class ChunkingPolicy : std::uint8_t {
  kFirstComeFirstServed,  ///< Each takes all that is left.
  kEqualProgress,         ///< Each takes a unit in turn.
};

/// What TensorRT-LLM's scheduler needs beyond EngineOptions, which hold its max_batch_size
/// (max_num_seqs), max_num_tokens (max_num_batched_tokens), max_seq_len (max_model_len),
/// tokens_per_block (block_size), enable_block_reuse (enable_prefix_caching), overlap scheduling
/// (async_scheduling) and drafts. Names and defaults are its own.
struct Settings {
  CapacityPolicy capacity_scheduler_policy = CapacityPolicy::kGuaranteedNoEvict;
  ChunkingPolicy context_chunking_policy = ChunkingPolicy::kFirstComeFirstServed;
  std::int64_t chunk_unit_size = 0;  ///< Tokens; 0: tokens_per_block.
  /// Maximum utilisation asks for the blocks of two steps: so with pipeline parallelism.
  bool two_step_lookahead = false;
  /// A prompt waits for another one that computes the block it needs next.
  bool skips_duplicate_prefixes = true;
  bool enable_partial_reuse = true;   ///< A block may be found by its first tokens.
  bool copy_on_partial_reuse = true;  ///< Also one that is in use, or has others behind it.
  /// Contexts wait beside generations for so many iterations ...
  std::int64_t batch_wait_timeout_iters = 0;
  /// ... or until the step has this share of max_num_tokens.
  double batch_wait_max_tokens_ratio = 0.0;
  bool enable_attention_dp = false;
  // attention_dp_config: with enable_balance, contexts wait until every rank has one, at most
  // timeout_iters iterations, and then batching_wait_iters for more.
  bool attention_dp_enable_balance = false;
  std::int64_t attention_dp_timeout_iters = 50;
  std::int64_t attention_dp_batching_wait_iters = 10;
};

}  // namespace ridgeline::engine::tensorrt_llm
