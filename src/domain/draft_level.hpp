#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace ridgeline::domain {

/// Drafts that each request gets after a step of so many requests or fewer (vLLM's
/// num_speculative_tokens_per_batch_size, #32374).
struct DraftLevel {
  std::int64_t most_requests = 0;
  std::int64_t drafts = 0;

  friend bool operator==(const DraftLevel&, const DraftLevel&) = default;
};

/// Drafts after a step of `requests` requests: those of the first of the ascending levels that
/// reaches so far, else of the last; `otherwise` where there are no levels.
[[nodiscard]] inline std::int64_t drafts_after(std::span<const DraftLevel> levels,
                                               std::int64_t requests,
                                               std::int64_t otherwise) {
  if (levels.empty()) {
    return otherwise;
  }
  const auto level = std::ranges::lower_bound(levels, requests, {}, &DraftLevel::most_requests);
  return level == levels.end() ? levels.back().drafts : level->drafts;
}

}  // namespace ridgeline::domain
