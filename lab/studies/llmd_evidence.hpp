#pragma once

#include <string>
#include <vector>

#include "lab/records/campaign.hpp"
#include "lab/studies/pairings.hpp"

/// What llm-d's campaigns say of their own figures, and of the servers' steps.
namespace ridgeline::studies {

using records::kStampsPerToken;

/// By how much the servers' steps were longer than predicted: measured over predicted gap between
/// tokens, in the mean of the strategies at the lowest rate, where no queue has a part in it. 1
/// where nothing is known.
[[nodiscard]] double step_factor(const std::vector<Pairing>& pairings);

/// Which number of time stamps per token, and which limit of the gateway, the published figures fit
/// by themselves; and step_factor().
[[nodiscard]] std::string evidence_of(const Campaign& campaign,
                                      const std::vector<Pairing>& pairings);

}  // namespace ridgeline::studies
