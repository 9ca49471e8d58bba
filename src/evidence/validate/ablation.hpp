#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/prediction.hpp"
#include "evidence/validate/scores.hpp"

namespace ridgeline::evidence::validate {

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

}  // namespace ridgeline::evidence::validate
