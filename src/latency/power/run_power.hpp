#pragma once

#include <cstdint>
#include <optional>

#include "core/units.hpp"
#include "latency/power/power_law.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency {

/// The steps of a run by their means.
struct MeanSteps {
  std::int64_t steps = 0;
  double decodes = 0.0;         ///< Sequences that decode, per step.
  core::Tokens decode_context;  ///< Context of one of them.
  std::int64_t prompts = 0;
  core::Tokens prompt;  ///< Tokens computed of one of them.
  core::Seconds busy;   ///< Time in steps, of all instances together.
};

/// Watts of one GPU while it works.
struct RunPower {
  Watts working;
  std::optional<double> decode = {};   ///< Expected, in what steps are without their prompts.
  std::optional<double> prefill = {};  ///< Expected, in the time that prompts add to steps.
};

/// What the GPUs of a run drew in its steps: FLOPs and bytes of a step with the mean number of
/// decodes, and those that the mean prompt adds to it, over the time that they took. Exact where
/// work is proportional to tokens; a mean over steps elsewhere. Nothing where the model cannot tell
/// FLOPs and bytes of such steps, or the GPU's power limit is not known.
[[nodiscard]] std::optional<RunPower> run_power(const StepTimeModel& model,
                                                const Execution& execution,
                                                const hardware::GpuSpec& gpu,
                                                const MeanSteps& mean);

}  // namespace ridgeline::latency
