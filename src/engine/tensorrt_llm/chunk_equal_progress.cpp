#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/tensorrt_llm/chunking.hpp"

namespace ridgeline::engine::tensorrt_llm {

void chunk_equal_progress(std::vector<ContextChunk>& contexts,
                          std::int64_t budget,
                          std::int64_t unit) {
  for (ContextChunk& context : contexts) {
    context.tokens = 0;
  }
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (ContextChunk& context : contexts) {
      const std::int64_t more = std::min(unit, context.rest - context.tokens);
      if (more > 0 && more <= budget) {
        context.tokens += more;
        budget -= more;
        goes_on = true;
      }
    }
  }
}

}  // namespace ridgeline::engine::tensorrt_llm
