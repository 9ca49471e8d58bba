#pragma once

#include <vector>

#include "studies/campaign.hpp"
#include "studies/ladder.hpp"
#include "studies/study.hpp"

namespace ridgeline::studies {

/// A stage of a strategy, predicted and measured.
struct Pairing {
  const MeasuredStage* measured = nullptr;
  LadderStage predicted;

  /// Of the throughputs, predicted over measured.
  [[nodiscard]] double ratio() const;
  /// No overload: nine requests in ten get their first token promptly, predicted and measured.
  [[nodiscard]] bool keeps_up() const;
};

/// Of the strategies simulated, which have a ladder each, by rate, then in their order. Stages
/// without a published row have no part in it, nor has the first, which only warms the caches.
[[nodiscard]] std::vector<Pairing> pair_up(const Campaign& campaign,
                                           const std::vector<Strategy>& strategies,
                                           const std::vector<std::vector<LadderStage>>& ladders);

/// Every figure, predicted beside measured.
[[nodiscard]] StudyTable ladder_table(const std::vector<Pairing>& pairings);
/// How long a stage took, by each of its published figures and by ours. They would agree if its
/// clients counted every token.
[[nodiscard]] StudyTable duration_table(const Campaign& campaign,
                                        const std::vector<Pairing>& pairings);

}  // namespace ridgeline::studies
