#pragma once

#include <cstdint>

#include "routing/scorers/candidate.hpp"

/// Rules by which routers compute a prompt on another instance than its answer.
namespace ridgeline::routing {

/// llm-d's prefix-based decider (ebab687): worth it from so many prompt tokens on that the decode
/// instance does not hold; 0: never.
struct PrefixDecider {
  std::int64_t non_cached_tokens = 16;
  std::int64_t prompt_tokens = 0;  ///< And from so long a prompt on.

  [[nodiscard]] bool disaggregates(std::int64_t prompt, const PrefixMatch& on_decode) const {
    const std::int64_t cached = on_decode.matched * on_decode.block_tokens;
    return non_cached_tokens > 0 && prompt >= prompt_tokens && prompt >= non_cached_tokens &&
           prompt - cached >= non_cached_tokens;
  }
};

/// inference-sim's threshold (f90a1e3), which must be exceeded.
[[nodiscard]] constexpr bool exceeds_prefix_threshold(std::int64_t prompt,
                                                      std::int64_t cached,
                                                      std::int64_t threshold) {
  return prompt - cached > threshold;
}

/// Dynamo's bound (2a6da14): a prompt stays on the decode worker where little of it is to compute,
/// in tokens and as a share.
struct PromptBound {
  std::int64_t tokens = 2048;
  double share = 0.7;

  [[nodiscard]] bool stays(std::int64_t prompt, std::int64_t cached) const {
    const std::int64_t uncached = prompt - cached;
    return uncached < tokens && static_cast<double>(uncached) < share * static_cast<double>(prompt);
  }
};

}  // namespace ridgeline::routing
