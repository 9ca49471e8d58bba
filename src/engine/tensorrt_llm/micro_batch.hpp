#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/tensorrt_llm/chunking.hpp"
#include "engine/tensorrt_llm/kv_cache.hpp"
#include "engine/tensorrt_llm/sequence.hpp"

namespace ridgeline::engine::tensorrt_llm {

/// The limits of one step.
struct MicroBatchLimits {
  std::int64_t max_batch_size = 0;
  std::int64_t max_num_tokens = 0;
  std::int64_t tokens_per_step = 1;   ///< Tokens that a generation takes: the next, and drafts.
  ChunkingScheduler chunk = nullptr;  ///< None: contexts are computed whole.
  std::int64_t chunk_unit = 0;        ///< Tokens.
  bool one_step_each = false;         ///< A request in flight is left out (pipelines).
};

/// The requests of one step.
struct MicroBatch {
  std::vector<ContextChunk> contexts;
  std::vector<Sequence*> generations;

  void clear() {
    contexts.clear();
    generations.clear();
  }
};

/// Tokens of a context that are still to be computed, less those that the cache holds: at least
/// one.
[[nodiscard]] std::int64_t tokens_left(const Sequence& context, const KvCache& kv);

/// Forms a step of requests that have blocks for it, in order: PyMicroBatchScheduler
/// (_torch/pyexecutor/scheduler/scheduler.py).
void form_micro_batch(std::span<Sequence* const> fitting,
                      const KvCache& kv,
                      const MicroBatchLimits& limits,
                      MicroBatch& batch);

}  // namespace ridgeline::engine::tensorrt_llm
