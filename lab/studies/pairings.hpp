#pragma once

#include <cstdint>
#include <vector>

#include "lab/records/campaign.hpp"
#include "lab/studies/ladder.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {

/// A stage of a strategy, predicted and measured.
struct Pairing {
  const MeasuredStage* measured = nullptr;
  LadderStage predicted;

  /// Predicted throughput over measured.
  [[nodiscard]] double ratio() const;
  /// No overload: nine requests in ten get their first token promptly, predicted and measured.
  [[nodiscard]] bool keeps_up() const;
  /// How long the stage took by its other published figures, if the client noted `stamps` times for
  /// each token of an answer: until the last request was sent, its first token (the ninth in ten)
  /// and the mean gaps behind it.
  [[nodiscard]] double duration_s(double stamps, std::int64_t answer) const;
  /// The share of the tokens asked for that the published throughput gives in that time: 1 where
  /// all requests were answered and all tokens counted.
  [[nodiscard]] double counted_share(double stamps, std::int64_t answer) const;
};

/// Pairs the stages of the simulated strategies, each with a ladder, by rate, then in their order.
/// Stages without a published row are left out, as is the first, which only warms the caches.
[[nodiscard]] std::vector<Pairing> pair_up(const Campaign& campaign,
                                           const std::vector<Strategy>& strategies,
                                           const std::vector<std::vector<LadderStage>>& ladders);

/// Every figure, predicted beside measured.
[[nodiscard]] StudyTable ladder_table(const std::vector<Pairing>& pairings);
/// How long a stage took by its published times, with one and with two time stamps for each token,
/// and which share of the tokens asked for its published throughput gives in that time.
[[nodiscard]] StudyTable duration_table(const Campaign& campaign,
                                        const std::vector<Pairing>& pairings);

}  // namespace ridgeline::studies
