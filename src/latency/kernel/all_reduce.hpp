#pragma once

#include <cstdint>

#include "core/units.hpp"
#include "hardware/gpu_spec.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"

namespace ridgeline::latency::kernel {

/// Sum of `message` bytes over `ranks` (at least 2) GPUs of one node: vLLM's custom all-reduce,
/// one-shot for small messages and two-shot above, then NCCL's ring; over PCIe where the GPU has no
/// NVLink (docs/models/kernel.md, "All-reduce").
[[nodiscard]] Cost all_reduce(core::Bytes message,
                              std::int64_t ranks,
                              const AllReduceConstants& constants,
                              const ExchangeConstants& common,
                              const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::kernel
