#pragma once

#include "core/result.hpp"
#include "hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

/// What a user should know before trusting a prediction: a GPU without measured relatives, number
/// formats that it has no units for and what happens instead, operators that no table was fitted
/// on.
[[nodiscard]] core::Warnings kernel_notes(const model::ModelSpec& network,
                                          const hardware::GpuSpec& gpu,
                                          const model::Sharding& sharding);

}  // namespace ridgeline::latency::kernel
