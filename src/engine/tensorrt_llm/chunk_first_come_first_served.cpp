#include <cstdint>
#include <vector>

#include "engine/tensorrt_llm/chunking.hpp"

namespace ridgeline::engine::tensorrt_llm {

void chunk_first_come_first_served(std::vector<ContextChunk>& contexts,
                                   std::int64_t budget,
                                   std::int64_t unit) {
  for (ContextChunk& context : contexts) {
    context.tokens = context.rest <= budget ? context.rest : budget / unit * unit;
    budget -= context.tokens;
  }
}

}  // namespace ridgeline::engine::tensorrt_llm
