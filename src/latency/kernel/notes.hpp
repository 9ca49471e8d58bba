#pragma once

#include "core/result.hpp"
#include "latency/kernel/calibration.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

/// What a user should know before trusting a prediction: a GPU, number formats or operators that
/// nothing was fitted on and what prices them instead, formats that the GPU has no units for.
[[nodiscard]] core::Warnings kernel_notes(const model::ModelSpec& network,
                                          const hardware::GpuSpec& gpu,
                                          const model::Sharding& sharding,
                                          const Calibration& calibration);

}  // namespace ridgeline::latency::kernel
