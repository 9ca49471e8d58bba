#include "engine/tensorrt_llm/micro_batch.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

#include "engine/tensorrt_llm/chunking.hpp"
#include "engine/tensorrt_llm/kv_cache.hpp"
#include "engine/tensorrt_llm/sequence.hpp"

namespace ridgeline::engine::tensorrt_llm {

std::int64_t tokens_left(const Sequence& context, const KvCache& kv) {
  const std::int64_t found = context.holds_blocks ? 0 : kv.find_prefix(context);
  return context.context_tokens - context.position - found;
}

void form_micro_batch(std::span<Sequence* const> fitting,
                      const KvCache& kv,
                      const MicroBatchLimits& limits,
                      MicroBatch& batch) {
  batch.clear();
  std::int64_t tokens = 0;          // Tokens of work that cannot be cut.
  std::int64_t context_tokens = 0;  // Tokens of contexts that can be cut.
  std::int64_t requests = 0;
  for (Sequence* const sequence : fitting) {
    if (sequence->is_completing() || (limits.one_step_each && sequence->parts_in_flight > 0)) {
      continue;
    }
    const bool is_context = sequence->is_context();
    const std::int64_t more = is_context ? tokens_left(*sequence, kv) : limits.tokens_per_step;
    if (is_context && limits.chunk != nullptr) {
      context_tokens += more;
    } else if (tokens + more <= limits.max_num_tokens) {
      tokens += more;
    } else {
      break;  // Nothing behind it runs.
    }
    if (is_context) {
      batch.contexts.push_back({.sequence = sequence, .rest = more, .tokens = more});
    } else {
      batch.generations.push_back(sequence);
    }
    if (++requests >= limits.max_batch_size) {
      break;
    }
  }
  if (tokens + context_tokens <= limits.max_num_tokens) {
    return;
  }
  limits.chunk(batch.contexts, limits.max_num_tokens - tokens, limits.chunk_unit);
  std::erase_if(batch.contexts, [](const ContextChunk& context) { return context.tokens == 0; });
  std::ranges::stable_partition(
      batch.contexts, [](const ContextChunk& context) { return !context.ends_context(); });
}

}  // namespace ridgeline::engine::tensorrt_llm
