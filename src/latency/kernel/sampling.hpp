#pragma once

#include <cstdint>

#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::kernel {

struct SamplingShape {
  std::int64_t vocab = 0;
  bool truncates = false;  ///< top-p or top-k.
  bool penalises = false;  ///< Repetition, frequency or presence penalty.
};

/// From logits to one token for each of `sequences` (docs/models/kernel.md, "Sampling").
[[nodiscard]] Cost sampling(const SamplingShape& shape,
                            std::int64_t sequences,
                            const SamplingConstants& constants,
                            const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::kernel
