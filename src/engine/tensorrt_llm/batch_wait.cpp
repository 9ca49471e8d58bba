#include "engine/tensorrt_llm/batch_wait.hpp"

#include <cstdint>

#include "engine/tensorrt_llm/micro_batch.hpp"

namespace ridgeline::engine::tensorrt_llm {

void BatchWait::apply(MicroBatch& batch, std::int64_t members) {
  // With no generation beside them, contexts would wait for nothing.
  const std::int64_t generations = std::ssize(batch.generations) + members;
  if (batch.contexts.empty() || generations == 0) {
    return;
  }
  std::int64_t tokens = generations * tokens_per_step_;
  for (const ContextChunk& context : batch.contexts) {
    tokens += context.sequence->context_tokens;  // Whole prompts, chunked or found or not.
  }
  if (iterations_ < most_iterations_ && static_cast<double>(tokens) < enough_tokens_) {
    ++iterations_;
    batch.contexts.clear();
    return;
  }
  iterations_ = 0;
}

}  // namespace ridgeline::engine::tensorrt_llm
