#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "latency/accuracy/bands.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// What a prediction of this deployment is of, in the words of the error bands.
[[nodiscard]] accuracy::Question accuracy_question(const Deployment& deployment, bool closed_loop);
/// How far its figures may be off, one of each metric that has a band; none where they are bounds.
[[nodiscard]] std::vector<accuracy::ExpectedError> expected_errors(const Deployment& deployment,
                                                                   bool closed_loop);

/// Why the times of a deployment are lower bounds and no estimates: no kernel was measured on its
/// GPU nor on a relative, so that every one takes what the datasheet says. Empty where they are
/// estimates. Whatever is made of such times has no expected error and no certainty.
[[nodiscard]] std::string why_bound(const Deployment& deployment);
/// why_bound() of all that serves.
[[nodiscard]] std::string why_bound(const Resolved& resolved);
/// What figures of it are: document::kBoundWords or "an estimate".
[[nodiscard]] std::string basis_words(const Resolved& resolved);
/// The words and the reason in one sentence; empty without a reason.
[[nodiscard]] std::string bound_text(const std::string& why);

/// Whether requests wait for answers to others: clients in a closed loop, or all sent at once.
[[nodiscard]] bool is_closed_loop(const WorkloadSection& workload);

}  // namespace ridgeline::scenario
