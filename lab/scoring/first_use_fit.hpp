#pragma once

#include <vector>

#include "core/result.hpp"
#include "evidence/validate/prediction.hpp"
#include "lab/scoring/evidence_words.hpp"
#include "lab/scoring/left_out_row.hpp"

namespace ridgeline::scoring {

/// Looks for the stall and the ranges of engine::FirstUseStalls that predict servers' first
/// requests best (the least mean absolute error of the mean end-to-end time and time to first
/// token), once on all records of first requests, and once for each network on those of all others,
/// which then predicts the network's own. The first row is of the fit on all, its `value` is
/// kNothingLeftOut; in every row `seen` is with the constants as they are. Without a network that
/// stalls among the others no stall is found. Fails where no record is of first requests.
[[nodiscard]] core::Result<std::vector<LeftOutRow>> leave_out_first_uses(
    const std::vector<Evidence>& evidence, const PredictOptions& options);

inline constexpr const char* kNothingLeftOut = "nothing";

}  // namespace ridgeline::scoring
