#include "engine/tensorrt_llm/chunking.hpp"

#include "core/check.hpp"
#include "engine/tensorrt_llm/settings.hpp"

namespace ridgeline::engine::tensorrt_llm {

ChunkingScheduler chunking_scheduler(ChunkingPolicy policy) {
  switch (policy) {
    case ChunkingPolicy::kFirstComeFirstServed:
      return chunk_first_come_first_served;
    case ChunkingPolicy::kEqualProgress:
      return chunk_equal_progress;
  }
  RIDGELINE_CHECK(false, "a chunking policy of the list");
}

}  // namespace ridgeline::engine::tensorrt_llm
