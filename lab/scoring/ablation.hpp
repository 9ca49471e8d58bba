#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evidence/validate/prediction.hpp"
#include "lab/scoring/evidence_words.hpp"

namespace ridgeline::scoring {

/// The errors with one element of the model taken out.
struct AblationRow {
  std::string variant;
  std::int64_t records = 0;     ///< That it changes something for.
  std::optional<ScoreRow> e2e;  ///< Error of the means, over all records below saturation.
  std::optional<ScoreRow> ttft;
  std::optional<ScoreRow> tpot;
};

/// What each element is worth: the whole model first, then without one element at a time, which
/// some records have and others not; elements that no record has are left out. Which records count
/// does not depend on the variant.
[[nodiscard]] std::vector<AblationRow> ablate(const std::vector<Evidence>& evidence,
                                              const PredictOptions& options);

}  // namespace ridgeline::scoring
