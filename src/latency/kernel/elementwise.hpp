#pragma once

#include <cstdint>

#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

/// Traffic of one layer's norms, residuals, rotary embedding, KV write and activation, and of
/// quantising the activations where GEMMs are 8-bit. The gaps between these kernels are
/// StepConstants::layer_launch_gap.
[[nodiscard]] Cost elementwise(const model::LayerElementwise& shape,
                               std::int64_t tokens,
                               const StepConstants& constants,
                               const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::kernel
