#pragma once

#include <cstdint>
#include <vector>

#include "engine/tensorrt_llm/sequence.hpp"
#include "engine/tensorrt_llm/settings.hpp"

namespace ridgeline::engine::tensorrt_llm {

/// What a step computes of a context.
struct ContextChunk {
  Sequence* sequence = nullptr;
  std::int64_t rest = 0;    ///< Tokens still to compute, less those that the cache holds.
  std::int64_t tokens = 0;  ///< Tokens computed in this step.

  [[nodiscard]] bool ends_context() const { return tokens == rest; }
};

/// Divides `budget` tokens among contexts that do not all fit, in units; sets the tokens of each,
/// which may be none. Source: PyMicroBatchScheduler and microBatchScheduler.cpp.
using ChunkingScheduler = void (*)(std::vector<ContextChunk>& contexts,
                                   std::int64_t budget,
                                   std::int64_t unit);
[[nodiscard]] ChunkingScheduler chunking_scheduler(ChunkingPolicy policy);

/// Each context takes what is left, cut down to whole units.
void chunk_first_come_first_served(std::vector<ContextChunk>& contexts,
                                   std::int64_t budget,
                                   std::int64_t unit);
/// In rounds, each context takes one unit more, until none fits.
void chunk_equal_progress(std::vector<ContextChunk>& contexts,
                          std::int64_t budget,
                          std::int64_t unit);

}  // namespace ridgeline::engine::tensorrt_llm
