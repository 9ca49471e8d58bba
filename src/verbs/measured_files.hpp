#pragma once

#include <vector>

#include "core/result.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/prediction.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {

/// `histories` and `threads`, of the verbs that simulate measured runs.
[[nodiscard]] std::vector<Parameter> measured_parameters();

/// What such a verb was asked for: the records of its `files`, and how to predict them. All other
/// keys are a scenario's, and win over what the records say.
struct MeasuredJob {
  std::vector<evidence::validate::Evidence> evidence;
  evidence::validate::PredictOptions options;
};
[[nodiscard]] core::Result<MeasuredJob> take_measured(Request& request);

/// Warns of what of the files was left out or contradicts itself, each problem once.
void warn_of_files(const std::vector<evidence::validate::Evidence>& evidence, Host& host);

}  // namespace ridgeline::verbs
