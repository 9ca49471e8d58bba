#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "lab/studies/gains.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {

/// A change of the model, as two of a study's arms.
struct Change {
  const char* name;  ///< Name of its table of gains.
  Pair arms;
};

/// How a study that is nothing but changes is judged, on the time per output token.
struct ServerRule {
  /// A group of runs must gain so many points: ours, as the studies state no rule of their own.
  double least_gain = 1.0;
  /// No split may lose more, in points; 0: no such rule. H2b's.
  double most_loss = 0.0;
  std::string published = {};  ///< What the study itself measured, for the finding.
};

/// Scores a study's arms on the measured runs of the options, and judges its first change:
/// confirmed where every group of ten and more runs gains, refuted where none does, partly between,
/// and where a split loses more than the rule allows. Undecided, and skipped, without measured
/// runs.
[[nodiscard]] core::Result<Outcome> judge_changes(const Lab& lab,
                                                  const std::vector<Change>& changes,
                                                  const ServerRule& rule);

}  // namespace ridgeline::studies
