#pragma once

#include "accuracy/bands.hpp"
#include "scenario/deployment.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// What a prediction of this deployment is of, in the words of the error bands.
[[nodiscard]] accuracy::Question accuracy_question(const Deployment& deployment, bool closed_loop);

/// Whether requests wait for answers to others: clients in a closed loop, or all sent at once.
[[nodiscard]] bool is_closed_loop(const WorkloadSection& workload);

}  // namespace ridgeline::scenario
