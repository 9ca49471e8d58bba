#pragma once

#include <cstdint>

#include "core/time.hpp"

namespace ridgeline::engine {

/// What a rank of a group did in its steps, besides its EngineTotals.
struct RankSteps {
  std::int64_t dummy_steps = 0;  ///< Steps without a request.
  core::Duration waited;         ///< Sum over steps: for the rank that took longest.
};

}  // namespace ridgeline::engine
