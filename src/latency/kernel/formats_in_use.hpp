#pragma once

#include <string>
#include <vector>

#include "core/units.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::latency::kernel {

/// A number format that a GPU multiplies in, and its dense peak.
struct FormatPeak {
  std::string format;  ///< "bf16", "fp8", "int8", "fp4" or "tf32".
  core::FlopsPerSecond peak;
};

/// The formats in which the GPU multiplies this network's matrices, slowest first: one roof each.
/// Attention makes BF16 one of them.
[[nodiscard]] std::vector<FormatPeak> formats_in_use(const model::ModelSpec& network,
                                                     const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::kernel
