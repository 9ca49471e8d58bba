#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "lab/scoring/ranking.hpp"

namespace ridgeline::scoring {

/// "regret@0.9=2": what a ranking's mean regret, or its share of picks that break a limit, may be
/// at that confidence, in percent.
struct RankingLimit {
  std::string text = {};
  std::string of = {};
  double confidence = 0.0;
  double limit = 0.0;
};
[[nodiscard]] core::Result<RankingLimit> read_ranking_limit(const std::string& text);

/// What is over its limit; what was not ranked, or of which nothing was picked, is.
[[nodiscard]] core::Errors missed(const std::vector<RankingLimit>& limits,
                                  const std::optional<Ranking>& ranking);

}  // namespace ridgeline::scoring
