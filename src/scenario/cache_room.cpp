#include "scenario/cache_room.hpp"

#include <algorithm>
#include <cstdint>

#include "engine/capacity.hpp"
#include "engine/options.hpp"
#include "scenario/deployment.hpp"

namespace ridgeline::scenario {
namespace {

/// Tokens of steps in flight, which keep a window's blocks (`VllmConfig.max_in_flight_tokens`).
std::int64_t tokens_in_flight(const Deployment& deployment) {
  const engine::EngineOptions& engine = deployment.engine;
  const std::int64_t steps =
      engine.profile.windows_keep_steps_in_flight
          ? std::max<std::int64_t>(engine.pipeline_depth, engine.async_scheduling ? 2 : 1)
          : 1;
  return steps * engine.max_num_batched_tokens.value();
}

/// Blocks of a request of max_model_len by the count of vLLM's log (`max_memory_usage_bytes` of
/// each kind of cache): the block that a window may begin in counts also for requests shorter than
/// a window and its steps.
std::int64_t logged_blocks(const Deployment& deployment) {
  const engine::EngineOptions& engine = deployment.engine;
  const std::int64_t size = deployment.memory.block_size.value();
  const auto blocks_for = [size](std::int64_t tokens) { return (tokens + size - 1) / size; };
  const std::int64_t longest = engine.max_model_len.value();
  const bool keeps_states = std::ranges::any_of(
      engine.cache_groups, [](const engine::CacheGroup& group) { return group.keeps_states; });
  std::int64_t blocks = 0;
  for (const engine::CacheLayout& layout : deployment.memory.layouts) {
    std::int64_t each = blocks_for(longest);
    if (layout.kind == engine::CacheLayout::Kind::kState) {
      each = (keeps_states ? 2 : 1) + engine.num_speculative_tokens;
    } else if (layout.kind == engine::CacheLayout::Kind::kWindow) {
      each =
          blocks_for(std::min(layout.window.value() - 1 + tokens_in_flight(deployment), longest)) +
          1;
    }
    blocks += each * layout.groups;
  }
  return blocks;
}

/// Block tables of a sequence.
std::int64_t groups_of(const Deployment& deployment) {
  return std::max<std::int64_t>(1, deployment.memory.num_groups());
}

/// Whether a request keeps less than all its tokens, or several block tables.
bool has_kinds(const Deployment& deployment) {
  return deployment.memory.num_groups() > 1 || !engine::has_one_full_cache(deployment.engine);
}

/// "Maximum concurrency" of vLLM's log: the null block counts.
double logged_requests(const Deployment& deployment) {
  return static_cast<double>(deployment.engine.num_gpu_blocks.value()) /
         static_cast<double>(logged_blocks(deployment));
}

}  // namespace

std::int64_t held_tokens(const Deployment& deployment) {
  return (deployment.engine.num_gpu_blocks.value() - 1) / groups_of(deployment) *
         deployment.engine.block_size.value();
}

std::int64_t blocks_of_longest(const Deployment& deployment) {
  return engine::blocks_of_request(
      deployment.memory, deployment.engine.max_model_len, deployment.engine.max_num_batched_tokens);
}

bool depends_on_longest(const Deployment& deployment) {
  return deployment.engine.profile.logs_tokens_of_longest && has_kinds(deployment);
}

double requests_of_longest(const Deployment& deployment) {
  return has_kinds(deployment) ? logged_requests(deployment)
                               : static_cast<double>(held_tokens(deployment)) /
                                     static_cast<double>(deployment.engine.max_model_len.value());
}

std::int64_t logged_tokens(const Deployment& deployment) {
  const engine::EngineOptions& engine = deployment.engine;
  if (!deployment.memory_lines.empty()) {
    return held_tokens(deployment);
  }
  return engine.profile.logs_tokens_of_longest
             ? static_cast<std::int64_t>(logged_requests(deployment) *
                                         static_cast<double>(engine.max_model_len.value()))
             : engine.num_gpu_blocks.value() / groups_of(deployment) * engine.block_size.value();
}

}  // namespace ridgeline::scenario
