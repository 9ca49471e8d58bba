#pragma once

#include <cstdint>
#include <span>

#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

/// Kernels that the host launches for a forward pass that no captured graph holds, counted from the
/// operators as vLLM's and SGLang's layers call them. Decodes alone carry a state on in one kernel.
struct Launched {
  std::int64_t with_prompts = 0;
  std::int64_t decodes = 0;
};
[[nodiscard]] Launched launches(std::span<const model::Operator> operators,
                                const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::kernel
