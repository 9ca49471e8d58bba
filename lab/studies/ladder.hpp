#pragma once

#include <cstdint>
#include <vector>

#include "core/result.hpp"
#include "lab/records/campaign.hpp"

/// A published campaign, simulated.
namespace ridgeline::studies {

// Whose load and fleet it is: evidence/validate/ladder_source.hpp.
using records::Campaign;
using records::CampaignStage;
using records::MeasuredStage;
using records::Strategy;

/// What a strategy's fleet did in one stage.
struct LadderStage {
  std::int64_t sent = 0;
  std::int64_t requests = 0;         ///< Answered: the gateway refused the others.
  double output_tokens_per_s = 0.0;  ///< From the first arrival to the last answer.
  double ttft_mean_s = 0.0;
  double ttft_p90_s = 0.0;
  double tpot_mean_s = 0.0;
  double cached_share = 0.0;  ///< Share of the prompt tokens found in the prefix caches.
};

/// Simulates a strategy through all stages; one result per stage.
[[nodiscard]] core::Result<std::vector<LadderStage>> simulate_ladder(const Campaign& campaign,
                                                                     const Strategy& strategy,
                                                                     std::uint64_t seed);

}  // namespace ridgeline::studies
