#pragma once

#include <cstdint>
#include <span>

#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

/// Kernels that the host launches for a forward pass that no captured graph holds, counted from the
/// operators as vLLM's and SGLang's layers call them.
[[nodiscard]] std::int64_t launches(std::span<const model::Operator> operators,
                                    const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::kernel
