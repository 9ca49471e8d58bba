#pragma once

#include <optional>
#include <vector>

#include "lab/scoring/ablation.hpp"
#include "lab/scoring/left_out_row.hpp"
#include "lab/scoring/ranking.hpp"

namespace ridgeline::scoring {

/// What is found of a collection beside its scores, where it was asked for.
struct Findings {
  std::vector<AblationRow> ablation = {};
  std::vector<LeftOutRow> unseen = {};
  std::optional<Ranking> ranking = {};
};

}  // namespace ridgeline::scoring
