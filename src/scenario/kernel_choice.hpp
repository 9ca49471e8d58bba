#pragma once

#include "latency/step_time_model.hpp"
#include "scenario/resolution.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// The kernels that a section asks for, where its engine has a choice.
[[nodiscard]] latency::KernelChoice kernel_choice(const EngineSection& engine);

/// Warns of each choice that changes no step of this network on this GPU (W-ignored-setting).
void note_idle_choices(Resolution& work);

}  // namespace ridgeline::scenario
