#pragma once

#include "latency/step_time_model.hpp"

namespace ridgeline::scoring {

/// `kernel-first`: the kernel model with its first published constants
/// (lab/data/kernel_first.yaml), frozen, as another implementation's golden values hold for them.
[[nodiscard]] latency::StepTimeModelEntry first_model();

}  // namespace ridgeline::scoring
