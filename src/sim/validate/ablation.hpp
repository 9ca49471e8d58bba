#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/validate/evidence.hpp"
#include "sim/validate/prediction.hpp"
#include "sim/validate/scores.hpp"

namespace ridgeline::sim::validate {

/// The errors with one element of the model taken out.
struct AblationRow {
  std::string variant;
  std::optional<ScoreRow> e2e;  ///< Of the means, over all records below saturation.
  std::optional<ScoreRow> ttft;
  std::optional<ScoreRow> tpot;
};

/// What each element is worth: the whole model first, then without one element at a time. Which
/// records count does not depend on the variant.
[[nodiscard]] std::vector<AblationRow> ablate(const std::vector<Evidence>& evidence,
                                              const PredictOptions& options);

}  // namespace ridgeline::sim::validate
