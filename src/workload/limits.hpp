#pragma once

#include <cstdint>
#include <limits>

#include "core/time.hpp"

namespace ridgeline::workload {

/// The most prompt or output tokens of one request: ten times the longest context window on offer
/// today (10 M, Llama 4 Scout's model card), so that a larger number is a mistake in the input.
inline constexpr std::int64_t kMaxTokensPerRequest = 100'000'000;

/// As many requests as there are ids; the last value of core::RequestId names none.
inline constexpr std::int64_t kMaxRequests = std::numeric_limits<std::uint32_t>::max();

/// The latest arrival: as late as a run may go on.
inline constexpr core::Duration kLatestArrival = core::SimTime::last().since_start();

}  // namespace ridgeline::workload
