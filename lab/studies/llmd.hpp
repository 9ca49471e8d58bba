#pragma once

#include "core/result.hpp"
#include "lab/records/campaign.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"

/// Published fleets behind llm-d's router, predicted beside measured.
namespace ridgeline::studies {

/// Simulates a campaign under each of its strategies that there is a router for, and
/// judges it: confirmed where the strategies' order by throughput is right at every rate and four
/// in five of the throughputs are within 15 %, refuted where neither holds, partly between.
[[nodiscard]] core::Result<Outcome> judge_campaign(const records::Campaign& campaign,
                                                   const Lab& lab);

}  // namespace ridgeline::studies
