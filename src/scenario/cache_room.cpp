#include "scenario/cache_room.hpp"

#include <algorithm>
#include <cstdint>

#include "engine/capacity.hpp"
#include "engine/options.hpp"
#include "scenario/deployment.hpp"

namespace ridgeline::scenario {
namespace {

/// As blocks_of_longest, by vLLM's log (SlidingWindowSpec.max_memory_usage_bytes): the block that a
/// window may begin in counts for requests too that are shorter than a window and a step.
std::int64_t logged_blocks(const Deployment& deployment) {
  const std::int64_t size = deployment.memory.block_size.value();
  const auto blocks_for = [size](std::int64_t tokens) { return (tokens + size - 1) / size; };
  const std::int64_t longest = blocks_for(deployment.engine.max_model_len.value());
  std::int64_t blocks = blocks_of_longest(deployment);
  for (const engine::CacheLayout& layout : deployment.memory.layouts) {
    const std::int64_t held =
        layout.window.value() - 1 + deployment.engine.max_num_batched_tokens.value();
    if (layout.kind == engine::CacheLayout::Kind::kWindow && longest <= blocks_for(held)) {
      blocks += layout.groups;
    }
  }
  return blocks;
}

}  // namespace

std::int64_t held_tokens(const Deployment& deployment) {
  const std::int64_t groups = std::max<std::int64_t>(1, deployment.memory.num_groups());
  return (deployment.engine.num_gpu_blocks.value() - 1) / groups *
         deployment.engine.block_size.value();
}

std::int64_t blocks_of_longest(const Deployment& deployment) {
  return engine::blocks_of_request(
      deployment.memory, deployment.engine.max_model_len, deployment.engine.max_num_batched_tokens);
}

bool depends_on_longest(const Deployment& deployment) {
  return deployment.memory.num_groups() > 1 || !engine::has_one_full_cache(deployment.engine);
}

double requests_of_longest(const Deployment& deployment) {
  // Where windows or states count, as vLLM does: all blocks, the null block among them.
  return depends_on_longest(deployment)
             ? static_cast<double>(deployment.engine.num_gpu_blocks.value()) /
                   static_cast<double>(logged_blocks(deployment))
             : static_cast<double>(held_tokens(deployment)) /
                   static_cast<double>(deployment.engine.max_model_len.value());
}

std::int64_t logged_tokens(const Deployment& deployment) {
  return static_cast<std::int64_t>(requests_of_longest(deployment) *
                                   static_cast<double>(deployment.engine.max_model_len.value()));
}

}  // namespace ridgeline::scenario
